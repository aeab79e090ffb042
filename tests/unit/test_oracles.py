"""What says which rows are right shares no code with what it judges: its imports are few, and listed here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
KIT = TESTS / "kit"

OURS = ("frazil", "frazil_local", "frazil_cloud", "frazil_lineage", "frazil_verify")

ORACLES = (
    "formats.avro_cases", "formats.avro_oracle", "formats.avro_versions", "graph.checkout",
    "clouds.confluent_openapi", "drawn.damage", "records.database_columns", "drawn.drawn_formats",
    "drawn.drawn_schemas", "readers.duck", "records.envelopes", "formats.json_cases",
    "formats.json_oracle", "formats.json_texts", "records.keyed", "model.conditions", "model.oracle",
    "readers.partition_values", "formats.protobuf", "formats.protobuf_cases",
    "formats.protobuf_oracle", "derived.query_cases", "drawn.random_formats", "drawn.random_records",
    "derived.recomputed", "drawn.schema_pairs", "records.soft_changes", "records.upserts",
    "records.versions", "planted.columns", "planted.written", "planted.topics", "planted.tables",
    "planted.faults", "planted.values", "planted.places", "planted.ledgers", "planted.kinds",
    "planted.guarded", "planted.leaks",
    "engines.known", "engines.compared", "renamed.cases", "renamed.formats", "runs.simulated",
    "wires.mixed",
)  # fmt: skip
"""Modules of the kit that say what a table must hold, or a decoder give."""

WORDS = (
    "frazil.connections", "frazil.settings.profile", "frazil.formats.logical", "frazil.formats.protocol",
    "frazil.spec.derived", "frazil.spec.topic",
)  # fmt: skip
"""What of the engine they may import: who asks whom, what users write, and the names of types and parts."""

ALSO = {
    "records.keyed": {"frazil.kafka.clients"},  # it produces by itself
    "model.oracle": {"frazil.landing.position.ledger"},  # it reads what is claimed, and believes none of it
    "records.soft_changes": {  # it makes what is judged, and asks nothing of it
        "frazil.landing.upsert.lane.newest",
        "frazil.landing.upsert.lane.soft",
        "frazil.landing.upsert.words",
    },
    "runs.simulated": {  # names of its parts, and of nothing that replays; and the planner of compactions
        "frazil.tables.metadata.files",
        "frazil.upkeep.compaction.bins",
        "frazil.upkeep.compaction.plan",
        "frazil.upkeep.planning.partition",
        "frazil.upkeep.planning.replay",
    },
    "derived.query_cases": {"frazil.derive.queries.types"},  # a word for a type that nobody knows
}

HANDS = (
    "planted.iceberg", "readers.compared", "formats.conformance", "formats.formats", "derived.made",
    "records.producing", "records.topics", "runs.waiting", "model.parts.catalog", "model.parts.spark",
    "model.parts.store", "model.parts.topic", "engines.engine", "engines.tables.made",
)  # fmt: skip
"""Modules of the kit that bring about what is judged, or hold it; these may import anything."""


def imports(module: str) -> Iterator[str]:
    tree = ast.parse((KIT / f"{module.replace('.', '/')}.py").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module in OURS or _is_folder(node.module or "")):
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def _is_folder(module: str) -> bool:
    return (TESTS / module.replace(".", "/")).is_dir()


@pytest.mark.parametrize("oracle", ORACLES)
def test_an_oracle_imports_words_of_the_engine_and_none_of_its_work(oracle: str) -> None:
    engine = {name for name in imports(oracle) if name.partition(".")[0] in OURS}

    assert engine - {*WORDS} - ALSO.get(oracle, set()) == set()


@pytest.mark.parametrize("oracle", ORACLES)
def test_an_oracle_rests_on_oracles_and_on_what_only_brings_things_about(oracle: str) -> None:
    kit = {name.removeprefix("kit.") for name in imports(oracle) if name.startswith("kit.")}

    assert kit - {*ORACLES, *HANDS} == set()


JUDGES = re.compile(
    r"\boracle|\bindependent|\bdictionary|\bby the words of\b|\bis known\b"
    r"|\b(must|ha[sv]e? to|should) (not )?(hold|become|be|give|come|land)\b",
    re.IGNORECASE,
)
"""How a module says in its docstring that it knows what is right."""

JUDGE = re.compile(r"_?(oracle|expected|should|truth)", re.IGNORECASE)
"""How functions and classes are called that do."""

CALLED = re.compile(rf"\b(def|class) {JUDGE.pattern}", re.IGNORECASE)
"""What a module has in which one is called so."""

OTHERS = {
    "clouds.dictionary_cloud": "it holds what is made there",
    "model.claims": "it asks the engine's own words whether they are true",
    "model.guards.guard": "it takes the engine's guards out",
}
"""Modules that speak so, and judge no rows."""


def test_whoever_speaks_as_a_judge_is_on_the_list() -> None:
    modules = {".".join(path.relative_to(KIT).with_suffix("").parts): path for path in KIT.rglob("*.py")}
    judges = {
        name
        for name, path in modules.items()
        if JUDGES.search(ast.get_docstring(ast.parse(path.read_text())) or "") or "oracle" in name
    }

    assert judges - {*ORACLES, *OTHERS} == set()
    assert {*ORACLES, *OTHERS} <= modules.keys()
    assert {name for name in ALSO if name not in ORACLES} == set()


def test_what_is_called_a_judge_anywhere_uses_nothing_of_the_engine() -> None:
    """In modules of tests, which bring about what they judge, and so import the engine."""
    judges = {
        (str(path.relative_to(TESTS)), node.name): used
        for path in sorted(TESTS.rglob("*.py"))
        for node, used in _judges(path.read_text())
        if used
    }

    assert judges.keys() - {("kit/model/oracle.py", "Oracle")} == set()  # see ALSO


def _judges(text: str) -> Iterator[tuple[ast.FunctionDef | ast.ClassDef, set[str]]]:
    """What is called a judge in a module, and the names of the engine that it uses."""
    tree = ast.parse(text if CALLED.search(text) else "")
    engine = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] in OURS
        for name in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and JUDGE.match(node.name):
            within = (each for part in node.body for each in ast.walk(part))
            yield node, {each.id for each in within if isinstance(each, ast.Name)} & engine
