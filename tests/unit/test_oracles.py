"""What says which rows are right shares no code with what it judges: its imports are few, and listed here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

KIT = Path(__file__).parents[1] / "kit"

ORACLES = (
    "avro_cases", "avro_oracle", "avro_versions", "damage", "database_columns", "drawn_formats",
    "drawn_schemas", "duck", "envelopes", "json_cases", "json_oracle", "json_texts", "keyed",
    "model.conditions", "model.oracle", "partition_values", "protobuf", "protobuf_cases", "protobuf_oracle",
    "query_cases", "random_formats", "random_records", "recomputed", "schema_pairs", "upserts", "versions",
)  # fmt: skip
"""Modules of the kit that say what a table must hold, or a decoder give."""

WORDS = (
    "frazil.connections", "frazil.settings.profile", "frazil.formats.logical", "frazil.formats.protocol",
    "frazil.spec.derived",
)  # fmt: skip
"""What of the engine they may import: who asks whom, what users write, and the names of types and parts."""

ALSO = {
    "keyed": {"frazil.kafka.clients"},  # it produces by itself
    "model.oracle": {"frazil.landing.ledger"},  # it reads what is claimed, and believes none of it
    "query_cases": {"frazil.derive.queries.types"},  # a word for a type that nobody knows
}

HANDS = (
    "compared", "conformance", "formats", "made", "producing", "topics", "waiting", "model.catalog",
    "model.spark", "model.store", "model.topic",
)  # fmt: skip
"""Modules of the kit that bring about what is judged, or hold it; these may import anything."""


def imports(module: str) -> Iterator[str]:
    tree = ast.parse((KIT / f"{module.replace('.', '/')}.py").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("kit", "frazil"):
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


@pytest.mark.parametrize("oracle", ORACLES)
def test_an_oracle_imports_words_of_the_engine_and_none_of_its_work(oracle: str) -> None:
    engine = {name for name in imports(oracle) if name.partition(".")[0] == "frazil"}

    assert engine - {*WORDS} - ALSO.get(oracle, set()) == set()


@pytest.mark.parametrize("oracle", ORACLES)
def test_an_oracle_rests_on_oracles_and_on_what_only_brings_things_about(oracle: str) -> None:
    kit = {name.removeprefix("kit.") for name in imports(oracle) if name.startswith("kit.")}

    assert kit - {*ORACLES, *HANDS} == set()


def test_whoever_is_called_an_oracle_is_on_the_list() -> None:
    called = {path.stem for path in KIT.glob("*oracle*.py")}

    assert called <= {*ORACLES}
    assert {name for name in ALSO if name not in ORACLES} == set()
