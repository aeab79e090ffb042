"""`frazil drift` beside a Glue that answers, or does not: what it says, and what it repairs."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.glue import GlueCatalog

from frazil.checks.targets.drift import Drift
from frazil.checks.targets.finding import find_drift, repair_drift
from frazil.errors import PartDownError
from frazil.publishing.glue import Glue
from frazil.publishing.reading import read_all
from frazil.spec.topic import TableSpec
from frazil.upkeep.removal import remove
from kit.readers.mirrored import NAME, Mirror, Standing, one_record
from kit.wires.wire import Wire


@pytest.fixture
def mirror(standing: Standing) -> Mirror:
    """Three rows, which Glue shows."""
    spec = TableSpec(topic="orders", namespace=NAME.namespace, publish=["glue"])
    return standing.shown(spec, 3, one_record)


def drift_of(mirror: Mirror) -> Drift:
    (drift,) = find_drift([mirror.spec], mirror.connections, time.time() + 60)
    return drift


def repaired(mirror: Mirror) -> Drift:
    (drift,), _ = repair_drift(mirror.spec, [drift_of(mirror)], mirror.connections)
    return drift


def changed_by_others(mirror: Mirror, **column: str) -> None:
    """Somebody edits the entry's first column, and leaves its pointer alone."""
    glue: Any = mirror.connections.glue
    entry = glue.get_table(DatabaseName=mirror.folder.name, Name=NAME.table)["Table"]
    storage = entry["StorageDescriptor"]
    first, *others = storage["Columns"]
    wanted = {**storage, "Columns": [{**first, **column}, *others]}
    kept = {name: entry[name] for name in ("Name", "TableType", "Parameters")}
    glue.update_table(
        DatabaseName=mirror.folder.name, TableInput={**kept, "StorageDescriptor": wanted}
    )  # fmt: skip


def test_a_table_that_glue_shows_as_it_is_is_in_step(mirror: Mirror) -> None:
    assert drift_of(mirror).state == "in step"
    assert not repaired(mirror).repaired


def test_one_that_is_behind_says_by_how_much_and_is_published(mirror: Mirror) -> None:
    mirror.land(2)

    behind = drift_of(mirror)

    assert (behind.state, behind.snapshots) == ("behind", 2)
    assert behind.seconds is not None
    assert behind.seconds >= 60
    assert "frazil drift unit.orders --repair" in behind.todo
    assert repaired(mirror).repaired
    assert mirror.shown == mirror.table.metadata_location


def test_what_a_blocking_check_refuses_is_not_published(mirror: Mirror) -> None:
    mirror.ledger = lambda number: one_record(number + 5)
    mirror.land()
    before = mirror.shown

    repaired_drift = repaired(mirror)

    assert (repaired_drift.state, repaired_drift.snapshots, repaired_drift.repaired) == ("held", 1, False)
    assert repaired_drift.why.startswith("row_count: ")
    assert mirror.shown == before


def test_an_entry_that_was_dropped_is_made_again(mirror: Mirror) -> None:
    mirror.connections.glue.delete_table(DatabaseName=mirror.folder.name, Name=NAME.table)

    assert drift_of(mirror).state == "missing"
    assert repaired(mirror).repaired
    assert mirror.shown == mirror.table.metadata_location


def test_a_foreign_commit_is_told_with_the_ways_on_and_left_alone(mirror: Mirror) -> None:
    athena = GlueCatalog("athena", client=mirror.connections.glue).load_table(
        (mirror.folder.name, NAME.table)
    )
    athena.append(pa.table({"quantity": [99]}, schema=athena.schema().as_arrow()))
    foreign = mirror.shown

    drift = repaired(mirror)

    assert (drift.state, drift.snapshots) == ("foreign", None)
    assert foreign in drift.why
    assert "foreign_commits: restore" in drift.todo
    assert mirror.shown == foreign


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ({"Type": "string"}, "column quantity is string and should be bigint"),
        ({"Comment": "by hand"}, "the comment of column quantity is another one"),
        ({"Name": "amount"}, "column quantity is missing; column amount is none of the table's"),
    ],
)
def test_columns_that_others_changed_are_named_and_put_back(
    mirror: Mirror, column: dict[str, str], why: str
) -> None:
    changed_by_others(mirror, **column)

    drift = drift_of(mirror)

    assert (drift.state, drift.why) == ("columns", why)
    assert repaired(mirror).repaired
    assert not drift_of(mirror).differs


def test_rows_that_readers_lack_are_counted_by_the_metadata_that_the_entry_names(mirror: Mirror) -> None:
    mirror.land(2)

    (uncounted,) = find_drift([mirror.spec], mirror.connections)
    (behind,) = find_drift([mirror.spec], mirror.connections, counts=True)
    ((repaired,), _) = repair_drift(mirror.spec, [behind], mirror.connections)

    assert (uncounted.rows, uncounted.rows_shown) == (None, None)
    assert (behind.state, behind.rows, behind.rows_shown) == ("behind", 5, 3)
    assert (repaired.state, repaired.rows, repaired.rows_shown) == ("in step", 5, 5)


def test_a_target_in_step_that_counts_other_rows_differs_since_the_newest_commit(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hidden(*asked: Any, **how: Any) -> dict[Any, Any]:
        return {path: replace(seen, rows=2) for path, seen in read_all(*asked, **how).items() if seen}  # type: ignore[type-var]

    monkeypatch.setattr("frazil.checks.targets.finding.read_all", hidden)
    head = mirror.table.current_snapshot()
    assert head

    (drift,) = find_drift([mirror.spec], mirror.connections, counts=True)

    assert (drift.state, drift.since) == ("rows", head.timestamp_ms / 1000)
    assert drift.why == "it shows the current metadata, and 2 rows of 3"
    assert "row access policy" in drift.todo


LABELLED = {"description": "All orders.", "owners": ("team:shop", "a@example.com"), "tags": {"tier": "gold"}}


def test_what_the_spec_tells_people_is_compared_and_written(mirror: Mirror) -> None:
    glue: Any = mirror.connections.glue
    mirror.spec = mirror.spec.model_copy(update=LABELLED)
    first = drift_of(mirror)
    mirror.sync()
    whole = drift_of(mirror).state
    entry = glue.get_table(DatabaseName=mirror.folder.name, Name=NAME.table)["Table"]
    mirror.spec = mirror.spec.model_copy(update={"tags": {}, "owners": ()})
    stale = drift_of(mirror)

    again = repaired(mirror)

    left = glue.get_table(DatabaseName=mirror.folder.name, Name=NAME.table)["Table"]
    assert (first.state, whole) == ("labels", "in step")
    assert first.why == (
        "the description is missing and should be All orders.; "
        "the owner is missing and should be team:shop, a@example.com; tag tier is missing and should be gold"
    )
    assert (entry["Description"], entry["Owner"]) == ("All orders.", "team:shop, a@example.com")
    assert entry["Parameters"]["frazil.tag.tier"] == "gold"
    assert (stale.state, stale.why) == ("labels", "tag tier is none of the spec's")
    assert (again.repaired, left["Owner"], "frazil.tag.tier" in left["Parameters"]) == (
        True, "team:shop, a@example.com", False,
    )  # fmt: skip
    assert mirror.shown == mirror.table.metadata_location


def test_a_table_that_is_gone_leaves_an_entry_over(mirror: Mirror) -> None:
    mirror.connections.catalog.drop_table(NAME.identifier)

    drift = repaired(mirror)

    assert drift.state == "left over"
    assert "frazil reset unit.orders" in drift.todo
    remove(mirror.spec, mirror.connections, ())
    assert find_drift([mirror.spec], mirror.connections) == []


def test_what_tableflow_shows_is_tableflow_s_to_bring_in_step(mirror: Mirror) -> None:
    mirror.land()
    theirs = mirror.spec.model_copy(update={"mode": "tableflow"})
    target = Glue(theirs, mirror.connections.settings)
    entry = {"metadata_location": mirror.synced, "table_type": "ICEBERG"}
    glue: Any = mirror.connections.glue
    glue.create_database(DatabaseInput={"Name": target.database})
    glue.create_table(DatabaseName=target.database, TableInput={"Name": target.path[-1], "Parameters": entry})

    (drift,), shown = repair_drift(theirs, find_drift([theirs], mirror.connections), mirror.connections)

    assert (drift.state, shown) == ("behind", [])
    assert "Tableflow in Confluent Cloud" in drift.todo


def test_a_glue_that_does_not_answer_is_down_and_nothing_is_claimed(mirror: Mirror, wire: Wire) -> None:
    wire.always("unsent", lambda asked: True)

    drift = drift_of(mirror)

    assert (drift.state, drift.snapshots, drift.seconds) == ("down", None, None)
    assert isinstance(drift.error, PartDownError)


def test_many_entries_of_one_database_are_one_request(mirror: Mirror, wire: Wire) -> None:
    specs = [mirror.spec, *(TableSpec(topic=f"t{n}", namespace="unit", publish=["glue"]) for n in range(40))]
    targets = [Glue(spec, mirror.connections.settings) for spec in specs]
    before = len(wire.asked)

    seen = read_all(targets, mirror.connections)

    assert [asked.operation for asked in wire.asked[before:]] == ["GetTables"]
    assert [bool(seen[target.path]) for target in targets] == [True, *[False] * 40]
