"""A condition of a contract is asked of records, or refused in words, whoever registered it."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from frazil.formats.avro.format import Avro
from frazil.formats.encryption.contract import Contract, Rule
from frazil.formats.json.format import Json
from frazil.formats.protocol import VALUE, Format, HalfSchemas, WriterSchema
from frazil.formats.rules.format import JudgedRecords
from kit.drawn.fuzzing import fuzz
from kit.drawn.mutation import Mutator
from kit.rules.recorded import ID, framed, schema, verdicts

FORMATS: dict[str, Format] = {"AVRO": Avro(), "JSON": Json()}
PARTS = (
    "message.qty", "message.name", "message['qty']", "message.none", "message", "null", "''", "-1", "1.5",
    "[]", "9223372036854775808", "matches('(')", "size(message.name)", "'\\ud800'", "r'\\'", "?", ":", "&&",
    "!", "(", ")",
)  # fmt: skip


def condition(mutator: Mutator, kind: str) -> str:
    """A broken condition."""
    dice = mutator.random
    words = dice.choice([*verdicts(kind)]).split(" ")
    if dice.random() < 0.7:
        words[dice.randrange(len(words))] = dice.choice((*PARTS, mutator.word()))
    return mutator.text(" ".join(words)) if dice.random() < 0.4 else " ".join(words)


@pytest.mark.parametrize("kind", FORMATS)
def test_any_condition_is_asked_of_records_or_refused(kind: str) -> None:
    judged, raw = JudgedRecords(FORMATS[kind]), pa.array(framed(kind), pa.binary())

    def read(text: str) -> None:
        rule = Rule("fit", "CEL", "READ", kind="CONDITION", expr=text, on_failure="DLQ")
        writer = WriterSchema(ID, 1, schema(kind), kind, contract=Contract((rule,)))
        decoder = judged.decoder(HalfSchemas(VALUE, judged, "orders-value", (writer,)))
        decoded = pickle.loads(pickle.dumps(decoder.arrow())).decode(raw)
        assert len(decoded.ok) == len(raw)

    assert fuzz(f"condition {kind}", lambda mutator: condition(mutator, kind), read)
