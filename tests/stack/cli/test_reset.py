"""`frazil reset` and `drop`: a table goes with all that exists because of it, and its topic stays."""

from __future__ import annotations

import shutil

import pytest

from frazil.connections import Connections
from frazil.errors import FaultError, FrazilError
from frazil.landing.land import land
from frazil.publishing.targets import targets_of
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.upkeep.storage import list_files
from kit.readers.opened import table_of
from kit.records.topics import Topic, create_topic
from kit.runs.shell import NAMESPACE, Command, Shell


@pytest.fixture
def topic(shell: Shell, connections: Connections, fresh_name: str) -> Topic:
    """A topic whose table has rows, a dead letter, and a table that is made of it; all of it is shown."""
    create_topic(connections.admin, fresh_name, 1, {})
    topic = Topic(
        fresh_name, connections, TableSpec(topic=fresh_name, namespace=NAMESPACE, on_bad_record="dead_letter")
    )
    topic.trades(10)
    topic.send([b"no frame"])
    shell.write(
        {"topic": fresh_name, "on_bad_record": "dead_letter"},
        derived=[{"table": f"{fresh_name}_buys", "sql": f"SELECT quantity FROM {fresh_name}"}],
    )
    return topic


@pytest.fixture
def name(topic: Topic, frazil: Command) -> str:
    name = str(topic.things.table)
    assert frazil("land", name).code == 0
    assert frazil("derive", f"{name}_buys").code == 0
    return name


def shown_in(topic: Topic) -> list[bool]:
    """Whether each target shows the table."""
    connections = topic.connections
    return [t.read(connections) is not None for t in targets_of(topic.spec, connections.settings)]


@pytest.mark.nightly
def test_a_table_starts_over_with_all_that_is_made_of_it(frazil: Command, topic: Topic, name: str) -> None:
    before = table_of(topic)
    planned = frazil("reset", name, "--dry-run", "--json").document
    assert shown_in(topic) == [True, True]

    done = frazil("reset", name, "--yes", "--json").document

    rows = {each["table"]: each["rows"] for each in planned["removed"]}
    assert rows == {f"{name}_buys": 10, f"{name}__dead_letters": 1, name: 10}
    assert list(rows) == [f"{name}_buys", f"{name}__dead_letters", name]
    assert [each["table"] for each in done["removed"]] == list(rows)
    assert planned["removed"][-1]["files"] > 3
    assert shown_in(topic) == [False, False]
    assert list(list_files(before)) == []
    assert TableHandle(topic.connections.catalog, topic.things.table).load_or_none() is None

    again = frazil("land", name, "--json").document

    assert [(report["records"], report["dead_letters"]) for report in again] == [(10, 1)]
    assert [row["quantity"] for row in topic.rows()] == list(range(10))
    assert shown_in(topic) == [True, True]
    assert frazil("derive", f"{name}_buys").code == 0
    assert frazil("check", name, f"{name}_buys", "--deep").code == 0


@pytest.mark.nightly
def test_frazil_deletes_no_file_that_is_to_stay_and_what_is_gone_is_no_error(
    frazil: Command, topic: Topic, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog of the embedded stack deletes a table's files itself, whatever it is asked."""
    deleted: list[str] = []
    monkeypatch.setattr("frazil.upkeep.removal.delete_files", lambda _, paths: deleted.extend(paths))

    first = frazil("reset", name, "--yes", "--keep-files", "--json")
    again = frazil("reset", name, "--yes")

    assert [each["files"] for each in first.document["removed"]] == [0, 0, 0]
    assert deleted == []
    assert (again.code, "There is no such table." in again.err + again.out) == (0, True)


def test_only_what_no_pipeline_names_is_dropped(
    frazil: Command, shell: Shell, topic: Topic, name: str
) -> None:
    refused = frazil("drop", name, "--yes")
    still = table_of(topic)
    shutil.rmtree(shell.pipelines / "one")

    dropped = frazil("drop", name, "--yes", "--json").document

    assert (refused.code, refused.is_clear) == (2, True)
    assert [each["table"] for each in dropped["removed"]] == [f"{name}__dead_letters", name]
    assert list(list_files(still)) == []
    assert shown_in(topic) == [False, False]


def test_a_person_is_asked_first_and_nothing_is_dropped_while_a_pipeline_that_may_name_it_is_broken(
    frazil: Command, shell: Shell, topic: Topic
) -> None:
    land(topic.spec, topic.connections)
    name = str(topic.things.table)
    asked = frazil("reset", name)
    file = shell.pipelines / "one" / "defs.yaml"
    file.write_text(file.read_text().replace("on_bad_record", "on_bad_rekord"))

    refused = frazil("drop", name, "--yes")

    assert (asked.code, "can't be undone" in asked.err) == (1, True)
    assert (refused.code, refused.is_clear) == (2, True)
    assert table_of(topic).scan().count() == 10


@pytest.mark.nightly
def test_a_landing_that_is_under_way_brings_back_nothing(frazil: Command, topic: Topic, name: str) -> None:
    topic.trades(5)

    def reset_before_the_commit(step: str) -> None:
        if step == "audited":
            assert frazil("reset", name, "--yes").code == 0

    with pytest.raises(FrazilError) as met:
        land(topic.spec, topic.connections, on_step=reset_before_the_commit)

    assert met.value.todo
    assert not isinstance(met.value, FaultError)
    assert TableHandle(topic.connections.catalog, topic.things.table).load_or_none() is None
    assert [report["records"] for report in frazil("land", name, "--json").document] == [15]
