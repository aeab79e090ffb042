"""Keys of every type, in every layout and mode, through three landings each, and tables made of them.

Dictionaries say what they must hold. FRAZIL_TEST_KEYS is the number of cases, FRAZIL_TEST_SEED says which.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.landing.land import land
from frazil.landing.repairs.rollback import roll_back
from frazil.landing.upsert.key import row_identity
from frazil.quoting import quoted
from frazil.tables.changelog import changelog
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.forgetting.condition import condition_of
from frazil.upkeep.forgetting.forget import forget
from frazil.upkeep.kind import Order
from kit.derived.made import Made, make_made
from kit.readers.opened import table_of
from kit.records.keyed import KINDS, MODES, Case, Keyed, Row, drawn, keyed
from kit.records.topics import topic_maker

CASES = int(os.environ.get("FRAZIL_TEST_KEYS", "1"))
SEED = int(os.environ.get("FRAZIL_TEST_SEED", "11"))

Oracle = Callable[[Case, list[Row]], list[tuple[Any, ...]]]


def _grouped(rows: list[Row], *by: str) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in by)].append(row)
    return groups


def _by_key(case: Case, rows: list[Row]) -> list[tuple[Any, ...]]:
    k, n, note = (case.names[word] for word in ("k", "n", "note"))
    groups = _grouped(rows, k).items()
    notes = {key: [row[note] for row in of if row[note] is not None] for key, of in groups}
    numbers = {key: [row[n] for row in of] for key, of in groups}
    return [(*key, sum(numbers[key]), max(numbers[key]), min(notes[key], default=None)) for key in numbers]


def _latest(case: Case, rows: list[Row]) -> list[tuple[Any, ...]]:
    part, k, n = (case.names[word] for word in ("part", "k", "n"))
    newest = (max(of, key=lambda row: row[n]) for of in _grouped(rows, part).values())
    return [(row[part], row[k], row[n]) for row in newest]


def _sums(case: Case, rows: list[Row]) -> list[tuple[Any, ...]]:
    part, n = case.names["part"], case.names["n"]
    return [(*key, len(of), sum(r[n] for r in of), len(of)) for key, of in _grouped(rows, part).items()]


def _hours(case: Case, rows: list[Row]) -> list[tuple[Any, ...]]:
    at = case.names["at"]
    counts = Counter(row[at].replace(minute=0) for row in rows)
    return [*counts.items()]


DERIVED: dict[str, tuple[str, dict[str, Any], Oracle]] = {
    "rows": (
        "SELECT {k}, {n} + 1 AS more, {note} FROM {table} WHERE {alive} AND {n} % 3 <> 0",
        {},
        lambda case, rows: [
            (row[case.names["k"]], row[case.names["n"]] + 1, row[case.names["note"]])
            for row in rows
            if row[case.names["n"]] % 3
        ],
    ),
    "counts": (
        "SELECT {part} AS of, count(*) AS c FROM {table} WHERE {alive} GROUP BY ALL",
        {"kind": "totals"},
        lambda case, rows: [(*key, len(of)) for key, of in _grouped(rows, case.names["part"]).items()],
    ),
    "keys": (
        "SELECT {k} FROM {table} WHERE {alive} GROUP BY ALL",
        {"kind": "totals"},
        lambda case, rows: [*_grouped(rows, case.names["k"])],
    ),
    "by key": (
        "SELECT {k} AS of, sum({n}) AS total, max({n}) AS most, min({note}) AS least FROM {table} "
        "WHERE {alive} GROUP BY ALL",
        {"kind": "totals"},
        _by_key,
    ),
    "counted": (
        "SELECT {part} AS of, count(*) AS c, sum({n}) AS total, count({n}) AS known FROM {table} "
        "WHERE {alive} GROUP BY ALL",
        {"kind": "totals"},
        _sums,
    ),
    "latest": (
        "SELECT {part} AS of, {k} AS k, {n} AS n FROM {table} WHERE {alive}",
        {"kind": "latest", "key": ["of"], "latest_by": ["n"]},
        _latest,
    ),
    "hours": (
        "SELECT date_trunc('HOUR', {at}) AS hour, count(*) AS c FROM {table} WHERE {alive} GROUP BY ALL",
        {"kind": "windows", "window": {"start": "hour", "length": "1h", "ahead": "36500d"}},
        _hours,
    ),
    "full": (
        "SELECT count(DISTINCT {k}) AS different, max({n}) AS most FROM {table} WHERE {alive}",
        {"kind": "full"},
        lambda case, rows: [
            (
                len(_grouped(rows, case.names["k"])),
                max((row[case.names["n"]] for row in rows), default=None),
            )
        ],
    ),
}


def plan(seed: int, count: int) -> list[tuple[str, str]]:
    """Pairs of a mode and a type of keys: all of them before any comes twice."""
    every = [(mode, kind) for mode in MODES for kind in KINDS]
    chance = random.Random(seed)
    steps: list[tuple[str, str]] = []
    while len(steps) < count:
        steps += chance.sample(every, len(every))
    return steps[:count]


ODD_NAMES = {"k": "a.b", "l": "it's", "n": 'quo"te', "part": "two-words", "at": "☃", "note": "x,y"}
KNOWN = (
    Case("upsert", "json", ("string", "int"), ODD_NAMES, (), (), twin=False, version=3),
    Case("soft", "json", ("long", "string"), ODD_NAMES, (), (), twin=False),
)
"""What went wrong once."""


@pytest.mark.nightly
@pytest.mark.parametrize("case", KNOWN)
def test_names_that_sql_has_to_quote(connections: Connections, fresh_name: str, case: Case) -> None:
    made = keyed(topic_maker(connections, fresh_name, "landing_tests"), case, random.Random(5))
    for _ in range(3):
        made.send_more(12)
        land(made.topic.spec, connections)
        assert_rows(made)


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["upsert", "soft", "log"])
@pytest.mark.parametrize("kinds", [("uuid",), ("boolean", "uuid"), ("fixed", "string")], ids="-".join)
def test_keys_that_spark_has_otherwise_than_files_are_merged_in_tasks(
    connections: Connections,
    fresh_name: str,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    kinds: tuple[str, ...],
) -> None:
    monkeypatch.setattr("frazil.landing.land.write_upserts", None)
    case = Case(mode, "avro", kinds, {word: word for word in ODD_NAMES}, None, (), twin=False)
    made = keyed(topic_maker(connections, fresh_name, "landing_tests"), case, random.Random(7))
    for _ in range(3):
        made.send_more(12)
        land(made.topic.spec, connections)
        assert_rows(made)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(CASES))
@pytest.mark.timeout(0)
def test_each_landing_leaves_what_the_dictionary_says_and_so_do_tables_made_of_it(
    connections: Connections, fresh_name: str, tmp_path: Path, number: int
) -> None:
    mode, kind = plan(SEED, number + 1)[number]
    chance = random.Random(SEED * 1000 + number)
    case = drawn(chance, mode, kind)
    print(f"FRAZIL_TEST_SEED={SEED}, case {number}: {case}")
    made = keyed(topic_maker(connections, fresh_name, "landing_tests"), case, chance)
    tables = derived(made, tmp_path, chance.sample([*DERIVED], 2))
    for landing in range(3):
        made.send_more()
        before = snapshots(made)
        land(made.topic.spec, connections)
        happened = chance.choice([nothing, compacted, rolled_back, assert_changes]) if landing else nothing
        print(f"landing {landing}: {happened.__name__}")
        happened(made, before)
        assert_rows(made)
        for word, table in tables.items():
            table.derive()
            wanted = sorted(DERIVED[word][2](case, read(made)), key=repr)
            assert table.rows() == wanted, (word, landing)
    forgotten(made, tables)


def derived(made: Keyed, folder: Path, words: Sequence[str]) -> dict[str, Made]:
    case, topic = made.case, made.topic
    names = {word: quoted(name) for word, name in case.names.items()}
    names["alive"] = "`$$op` <> 'd'" if case.mode == "history" else "true"
    tables = {}
    for number, word in enumerate(words):
        sql, spec, _ = DERIVED[word]
        text = sql.format(table=topic.name, **names)
        name = f"{topic.name}_made{number}"
        tables[word] = make_made(topic.connections, folder, name, text, namespace="landing_tests", **spec)
    return tables


def snapshots(made: Keyed) -> list[int]:
    catalog, name = made.topic.connections.catalog, made.topic.things.table.identifier
    return [table_of(made.topic).metadata.current_snapshot_id or 0] if catalog.table_exists(name) else []


def read(made: Keyed) -> list[Row]:
    """The table's rows by PyIceberg, in the columns of the case; those that were deleted softly as well."""
    table = table_of(made.topic)
    own = made.case.columns
    if made.case.mode == "history":  # deletes have a key only
        rows = table.scan().to_arrow().to_pylist()
        return [{c: row[c] for c in own} for row in rows if row["$$op"] != "d"]
    return [{c: row[c] for c in own} for row in table.scan(selected_fields=tuple(own)).to_arrow().to_pylist()]


def assert_rows(made: Keyed) -> None:
    rows = table_of(made.topic).scan().to_arrow().to_pylist()
    own = made.case.columns
    alive = [r for r in rows if not r.get("$$deleted", False) and r.get("$$current", True)]
    living = sorted(([r[c] for c in own] for r in alive), key=repr)
    assert living == sorted(([r[c] for c in own] for r in made.rows.values()), key=repr)
    if made.case.mode in ("soft", "log"):
        gone = sorted(([r[c] for c in own] for r in rows if r["$$deleted"]), key=repr)
        assert gone == sorted(([r[c] for c in own] for r in made.gone.values()), key=repr)
    if made.case.mode == "history":
        assert len(rows) == made.versions


def nothing(made: Keyed, before: list[int]) -> None:
    """Lands once more, which finds nothing."""
    assert not land(made.topic.spec, made.topic.connections).records


def compacted(made: Keyed, before: list[int]) -> None:
    compact(made.topic.spec, made.topic.connections, time.time(), Order(everything=True))


def rolled_back(made: Keyed, before: list[int]) -> None:
    roll_back(made.topic.spec, made.topic.connections, before[0])
    land(made.topic.spec, made.topic.connections)


def assert_changes(made: Keyed, before: list[int]) -> None:
    """What `frazil changes` tells makes the new rows of the old ones."""
    topic, table = made.topic, table_of(made.topic)
    one, two = (
        table.metadata.snapshot_by_id(i) for i in (before[0], table.metadata.current_snapshot_id or 0)
    )
    assert one
    assert two
    key = row_identity(topic.spec, table)
    old, new = (table.scan(snapshot_id=s.snapshot_id).to_arrow().to_pylist() for s in (one, two))
    rows = {tuple(row[c] for c in key): row for row in old}
    for change in changelog(topic.connections.spark, table, one, two, key):
        if change.before is not None:
            rows.pop(tuple(change.before[c] for c in key))
        if change.after is not None:
            rows[tuple(change.after[c] for c in key)] = change.after
    assert sorted(rows.values(), key=in_order) == sorted(new, key=in_order)


def in_order(row: dict[str, Any]) -> str:
    """A row as text; Spark's and PyIceberg's UTC are equal, and are spelt in two ways."""
    return repr(row).replace("zoneinfo.ZoneInfo(key='UTC')", "datetime.timezone.utc")


def forgotten(made: Keyed, tables: dict[str, Made]) -> None:
    """A row is forgotten by its number; those that are made of it follow, or are named."""
    if not made.rows:
        return
    n = made.case.names["n"]
    key, row = next(iter(made.rows.items()))
    schema, topic = table_of(made.topic).schema(), made.topic
    condition = condition_of(schema, f'"{n.replace(chr(34), chr(34) * 2)}" = {row[n]}')
    forget(topic.spec, topic.connections, condition, [t.spec for t in tables.values()], after=0.0)
    del made.rows[key]
    assert row[n] not in [r[n] for r in read(made)]
    for check in ("row_count", "row_count_deep", "schema"):
        result = run_check(check, topic.spec, topic.connections)
        assert result.passed, result.text
