"""Another engine commits to the Glue entry: it is never overwritten silently."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.glue import GlueCatalog

from frazil.checks.run import run_check
from frazil.errors import RepairError
from frazil.publishing.glue import Glue
from frazil.spec.topic import TableSpec
from frazil.upkeep.run import show
from kit.readers.mirrored import NAME, Mirror, Standing
from kit.wires.wire import Fate, Wire


@pytest.fixture
def mirror(standing: Standing) -> Mirror:
    """Three rows, which Glue shows."""
    spec = TableSpec(topic="orders", namespace=NAME.namespace, publish=["glue"])
    return standing.shown(spec, 3)


def inserted_by_athena(mirror: Mirror, quantity: int = 99) -> str:
    """Commits through the Glue entry, as Athena does; the metadata that it names then."""
    athena = GlueCatalog("athena", client=mirror.connections.glue)
    table = athena.load_table((mirror.folder.name, NAME.table))
    table.append(pa.table({"quantity": [quantity]}, schema=table.schema().as_arrow()))
    return mirror.shown


def restoring(mirror: Mirror) -> TableSpec:
    return mirror.spec.model_copy(update={"foreign_commits": "restore"})


@pytest.mark.parametrize("landings", [0, 1, 20])
def test_a_foreign_commit_is_left_alone_and_both_metadata_files_and_the_ways_on_are_named(
    mirror: Mirror, landings: int
) -> None:
    foreign = inserted_by_athena(mirror)
    mirror.land(landings)

    with pytest.raises(RepairError, match="Another engine committed") as refused:
        mirror.sync()

    assert mirror.shown == foreign
    message = str(refused.value)
    assert foreign in message
    assert mirror.table.metadata_location in message
    assert all(way in message for way in ("INSERT", "foreign_commits: restore", "FRAZIL_GLUE__DATABASE"))


def test_the_check_fails_and_names_both_metadata_files_and_the_ways_on(mirror: Mirror) -> None:
    foreign = inserted_by_athena(mirror)

    result = run_check("glue_pointer", mirror.spec, mirror.connections)

    assert result.failed
    assert "Frazil did not put that there" in result.text
    assert "foreign_commits: restore" in result.text
    assert foreign.rpartition("/")[2] in result.text
    assert result.numbers["iceberg_metadata"] == mirror.table.metadata_location


def test_upkeep_does_not_move_an_entry_that_another_engine_moved(mirror: Mirror) -> None:
    foreign = inserted_by_athena(mirror)

    assert list(show(mirror.spec, mirror.connections, done=True)) == []
    assert mirror.shown == foreign


def test_what_another_engine_wrote_stays_readable_as_long_as_glue_names_it(mirror: Mirror) -> None:
    foreign = inserted_by_athena(mirror)
    mirror.land(20)

    mirror.keep_up(days=30)

    assert mirror.athena(foreign) == [0, 1, 2, 99]


def test_restore_puts_the_pointer_back_and_tells_what_it_replaced(mirror: Mirror) -> None:
    foreign = inserted_by_athena(mirror)
    glue = Glue(restoring(mirror), mirror.connections.settings)

    shown = glue.sync(mirror.connections)

    assert mirror.shown == mirror.table.metadata_location
    assert shown.replaced == foreign
    assert not glue.sync(mirror.connections).replaced


@pytest.mark.parametrize("fate", ["dropped", "failed", "replayed", "unsent"])
def test_restore_tells_what_it_replaced_though_the_answer_is_lost(
    mirror: Mirror, wire_and_url: tuple[Wire, str], fate: Fate
) -> None:
    foreign = inserted_by_athena(mirror)
    wire_and_url[0].once(fate)

    shown = Glue(restoring(mirror), mirror.connections.settings).sync(mirror.connections)

    assert (shown.metadata_location, shown.replaced) == (mirror.table.metadata_location, foreign)


def test_files_of_a_commit_that_was_replaced_go_as_orphans(mirror: Mirror) -> None:
    foreign = inserted_by_athena(mirror)
    Glue(restoring(mirror), mirror.connections.settings).sync(mirror.connections)

    mirror.keep_up(days=4)

    assert foreign.removeprefix("file://") not in mirror.stored(".metadata.json")
    assert mirror.athena(mirror.shown) == [0, 1, 2]


def test_an_entry_of_another_table_is_not_overwritten(mirror: Mirror) -> None:
    entry = {"Name": NAME.table, "TableType": "EXTERNAL_TABLE", "Parameters": {"classification": "parquet"}}
    mirror.connections.glue.update_table(DatabaseName=mirror.folder.name, TableInput=entry)

    with pytest.raises(RepairError, match="the entry is of another table"):
        mirror.sync()


@pytest.mark.parametrize("text", ["", "{}", "PAR1"])
def test_a_file_that_is_no_metadata_is_another_engines_too(mirror: Mirror, text: str) -> None:
    junk = Path(mirror.shown.removeprefix("file://")).parent / "junk.metadata.json"
    junk.write_text(text)
    point(mirror, {"metadata_location": junk.as_uri()})

    with pytest.raises(RepairError, match="Another engine committed"):
        mirror.sync()
    assert run_check("glue_pointer", mirror.spec, mirror.connections).failed


def test_a_file_that_is_gone_is_nobodys_and_replaced(mirror: Mirror) -> None:
    point(mirror, {"metadata_location": mirror.shown.replace("metadata/0", "metadata/9")})

    assert mirror.sync() == mirror.table.metadata_location


def point(mirror: Mirror, parameters: dict[str, str]) -> None:
    """Changes parameters of the entry, as another engine does; a name without a value goes."""
    glue, database = mirror.connections.glue, mirror.folder.name
    entry = glue.get_table(DatabaseName=database, Name=NAME.table)["Table"]
    wanted = {key: entry[key] for key in ("Name", "TableType", "StorageDescriptor")}
    changed = {key: text for key, text in (entry["Parameters"] | parameters).items() if text}
    glue.update_table(DatabaseName=database, TableInput={**wanted, "Parameters": changed})


def test_an_entry_of_before_frazil_noted_what_it_puts_there_is_its_own(mirror: Mirror) -> None:
    point(mirror, {"frazil.metadata_location": ""})
    mirror.land(10)  # past the table's log

    assert mirror.sync() == mirror.table.metadata_location
