"""Producers write what they like: each record that is no row has a reason, and ends no other work."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator

from frazil.formats.avro.schemas.parser import avro_text, parse_avro
from frazil.formats.kinds import PLAIN_FORMATS, SCHEMA_FORMATS
from frazil.formats.protobuf.decoder import ProtobufDecoder, batches_of
from frazil.formats.protocol import VALUE, Decoder, HalfSchemas, WriterSchema
from kit.drawn.damage import damaged
from kit.drawn.fuzzing import fuzz
from kit.drawn.mutation import NESTED, Mutator
from kit.drawn.random_formats import RANDOM_FORMATS, RandomFormat
from kit.drawn.random_records import Group, Many, Maybe, Named, Scalar, value_of

_SCHEMAS, _BATCH = 6, 20
_WIDE = 0.0005
"""Of records, the share that has as many keys as a message of Kafka holds."""
_LONG_VARINTS = (b"\xff" * 9 + b"\x7f", b"\x80" * 20, b"\xfe\xff\xff\xff\x0f")


@dataclass(frozen=True)
class Source:
    """Good records of one schema, and what explains bad ones."""

    decoder: Decoder
    writer: WriterSchema
    records: tuple[bytes, ...]


@cache
def source(of: RandomFormat, number: int) -> Source:
    dice = Random(f"{of.name} {number}")
    group = _group(of, dice, 0)
    writer = WriterSchema(number, 1, of.schema(group), of.name.upper())
    schemas = HalfSchemas(VALUE, SCHEMA_FORMATS[writer.kind], "t-value", (writer,), strict=number % 2 == 0)
    encode = of.encoder(group)
    head = b"\0" + number.to_bytes(4, "big") + of.header
    records = tuple(head + encode(value_of(group, dice)) for _ in range(20))
    return Source(schemas.format.decoder(schemas), writer, records)


def _made_before(of: RandomFormat) -> None:
    """Makes the sources before anybody looks what is written: protoc may write."""
    for number in range(1, _SCHEMAS + 1):
        source(of, number)


def _group(of: RandomFormat, dice: Random, depth: int) -> Group:
    """A record of every scalar that the format knows, and of each way to put some together."""
    scalars = [Scalar(word) for word in sorted(of.scalars)]
    some = dice.choice(scalars)
    within = Group(f"G{depth}{dice.randrange(2**30):x}", (("a", some), ("b", dice.choice(scalars))))
    deeper = [_group(of, dice, depth + 1)] if depth < 1 else []
    kinds = [*scalars, Maybe(some), Many(within), Named(some), Maybe(within), *deeper]
    return Group(f"R{depth}{dice.randrange(2**30):x}", tuple((f"f{n}", kind) for n, kind in enumerate(kinds)))


def bad(mutator: Mutator, good: Source) -> bytes:
    """A record that is damaged, nested beyond all bounds, or another one's."""
    dice = mutator.random
    if good.writer.kind == "JSON" and dice.random() < _WIDE:
        return good.records[0][:5] + json.dumps({str(n): n for n in range(100_000)}).encode()
    match dice.randrange(6):
        case 0:
            return mutator.raw(dice.choice(good.records))
        case 1:
            return dice.choice(good.records)[:5] + _deep(dice)
        case 3 if good.writer.kind == "JSON":
            return dice.choice(good.records)[:-1] + b', "more": ' + _deep(dice) + b"}"
        case 2 if good.writer.kind == "JSON":
            text = dice.choice(good.records)[5:].decode()
            return good.records[0][:5] + mutator.document(json.loads(text)).encode("utf-8", "surrogatepass")
        case _:
            return damaged(good.records, 18, dice.randrange(2**30))[dice.randrange(18)]


def _deep(dice: Random) -> bytes:
    """What is nested as deep as a stack holds, or deeper."""
    levels = dice.choice((200, 400, 800, 990, NESTED))
    if dice.random() < 0.5:
        opening, closing = dice.choice(((b"[", b"]"), (b'{"f0":', b"}"), (b'{"f0":[', b"]}")))
        return opening * levels + b"1" + closing * levels
    return dice.choice((b"[", b'{"f0":', b"\x02", b"\x0a\xff\x7f", b"\x0b", *_LONG_VARINTS)) * levels


@pytest.mark.parametrize("of", RANDOM_FORMATS, ids=lambda of: of.name)
def test_any_bytes_of_a_format_are_explained(of: RandomFormat) -> None:
    def given(mutator: Mutator) -> tuple[int, bytes]:
        number = mutator.random.randint(1, _SCHEMAS)
        return number, bad(mutator, source(of, number))

    def explain(record: tuple[int, bytes]) -> None:
        code, words = source(of, record[0]).decoder.explain(record[1])
        assert code
        assert words

    _made_before(of)
    assert fuzz(f"{of.name} record", given, explain)


def test_any_batch_of_protobuf_is_decoded() -> None:
    of = next(f for f in RANDOM_FORMATS if f.name == "protobuf")

    def batch(mutator: Mutator) -> tuple[int, list[bytes | None]]:
        number = mutator.random.randint(1, _SCHEMAS)
        records = [bad(mutator, source(of, number)) for _ in range(_BATCH)]
        return number, [*records, None, *source(of, number).records[:2]]

    def decode(given: tuple[int, list[bytes | None]]) -> None:
        decoder = source(of, given[0]).decoder
        assert isinstance(decoder, ProtobufDecoder)
        decoded = batches_of(decoder._recipe).decode(pa.array(given[1], pa.binary()))
        assert len(decoded) == len(given[1])
        assert decoded.field("ok")[-1].as_py()

    _made_before(of)
    assert fuzz("protobuf batch", batch, decode, at_once=_BATCH)


def test_any_batch_of_avro_is_decoded_and_what_is_read_is_read_to_its_last_byte() -> None:
    of = RANDOM_FORMATS[0]

    @cache
    def judge(number: int) -> Any:
        bare = avro_text(parse_avro(source(of, number).writer.text, "t"), logical=False)
        return fastavro.parse_schema(json.loads(bare))

    def batch(mutator: Mutator) -> tuple[int, list[bytes | None]]:
        number = mutator.random.randint(1, _SCHEMAS)
        records = [bad(mutator, source(of, number)) for _ in range(_BATCH)]
        return number, [*records, None, *source(of, number).records[:2]]

    def decode(given: tuple[int, list[bytes | None]]) -> None:
        columns = source(of, given[0]).decoder.arrow()
        assert columns
        decoded = columns.decode(pa.array(given[1], pa.binary()))
        assert decoded.ok.to_pylist()[-3:] == [False, True, True]
        for raw in pa.array(given[1], pa.binary()).filter(decoded.ok).to_pylist():
            rest = io.BytesIO(raw[5:])
            fastavro.schemaless_reader(rest, judge(given[0]), None)
            assert not rest.read()

    _made_before(of)
    assert fuzz("avro batch", batch, decode, at_once=_BATCH)


def test_any_batch_of_json_is_decoded_and_what_is_read_is_valid() -> None:
    """Schemas with an even number ask for all of their rules."""
    of = next(f for f in RANDOM_FORMATS if f.name == "json")

    @cache
    def judge(number: int) -> Draft202012Validator:
        return Draft202012Validator(json.loads(source(of, number).writer.text))

    def batch(mutator: Mutator) -> tuple[int, list[bytes | None]]:
        number = mutator.random.randint(1, _SCHEMAS)
        records = [bad(mutator, source(of, number)) for _ in range(_BATCH)]
        return number, [*records, None, *source(of, number).records[:2]]

    def decode(given: tuple[int, list[bytes | None]]) -> None:
        decoded = source(of, given[0]).decoder.arrow().decode(pa.array(given[1], pa.binary()))
        assert decoded.ok.to_pylist()[-3:] == [False, True, True]
        for raw in pa.array(given[1], pa.binary()).filter(decoded.ok).to_pylist():
            value = json.loads(raw[5:].decode())
            assert isinstance(value, dict)
            assert given[0] % 2 or judge(given[0]).is_valid(value)

    _made_before(of)
    assert fuzz("json batch", batch, decode, at_once=_BATCH)


@pytest.mark.parametrize("name", ["bytes", "string"])
def test_any_bytes_without_a_schema_are_explained(name: str) -> None:
    decoder = PLAIN_FORMATS[name].decoder(HalfSchemas(VALUE, PLAIN_FORMATS[name], "t-value"))
    assert fuzz(f"plain {name}", lambda m: m.raw(m.word().encode("utf-8", "surrogatepass")), decoder.explain)


def test_any_avro_of_an_older_schema_is_explained() -> None:
    """The newest schema has wider types: what is wrong is looked for value by value."""
    of = RANDOM_FORMATS[0]
    older = source(of, 1).writer
    text = (
        older.text.replace('"int"', '"double"').replace('"float"', '"double"').replace('"string"', '"bytes"')
    )
    writers = (older, replace(older, schema_id=2, version=2, text=text))
    decoder = SCHEMA_FORMATS["AVRO"].decoder(HalfSchemas(VALUE, SCHEMA_FORMATS["AVRO"], "t-value", writers))
    assert fuzz("older avro record", lambda m: bad(m, source(of, 1)), decoder.explain)
