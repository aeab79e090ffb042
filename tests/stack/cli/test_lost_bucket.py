"""The bucket is lost, and the catalog still names its tables: the topics tell the rows once more."""

from __future__ import annotations

import pytest

from frazil.connections import Connections
from frazil.spec.topic import TableSpec
from frazil.upkeep.storage import delete_files
from kit.readers.opened import table_of
from kit.readers.stored import files_under
from kit.records.topics import Topic, create_topic
from kit.runs.shell import NAMESPACE, Command, Shell


@pytest.mark.nightly
@pytest.mark.also(
    "glue", why="a table's metadata is in the bucket itself there, so that nothing can be loaded"
)
def test_a_table_whose_files_are_gone_starts_over_with_all_that_its_topic_holds(
    lake: Connections, shell: Shell, frazil: Command, fresh_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_CATALOG", lake.settings.catalog)
    create_topic(lake.admin, fresh_name, 1, {})
    topic = Topic(fresh_name, lake, TableSpec(topic=fresh_name, namespace=NAMESPACE))
    shell.write({"topic": fresh_name})
    topic.trades(5)
    assert frazil("land", f"{NAMESPACE}.{fresh_name}").code == 0
    table = table_of(topic)
    delete_files(table.io, files_under(table))
    topic.trades(3)

    name = str(topic.things.table)
    refused = frazil("land", name)
    reset = frazil("reset", name, "--yes")
    landed = frazil("land", name, "--json")

    assert (refused.code, refused.is_clear) == (1, True)
    assert (reset.code, landed.code) == (0, 0)
    assert [row["quantity"] for row in topic.rows()] == list(range(8))
    assert frazil("verify", name).code == 0
