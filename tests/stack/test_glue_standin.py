"""Glue's promises that Iceberg commits lean on, and that moto alone does not keep."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from frazil.connections import Connections


@pytest.fixture
def glue(connections: Connections, fresh_name: str) -> Any:
    connections.glue.create_database(DatabaseInput={"Name": fresh_name})
    connections.glue.create_table(DatabaseName=fresh_name, TableInput=table(0))
    return connections.glue


def table(count: int) -> dict[str, Any]:
    return {"Name": "counted", "Parameters": {"count": str(count)}}


def code_of(error: pytest.ExceptionInfo[ClientError]) -> str:
    return str(error.value.response["Error"]["Code"])


def test_an_update_of_a_version_that_is_gone_is_refused(glue: Any, fresh_name: str) -> None:
    glue.update_table(DatabaseName=fresh_name, TableInput=table(1), VersionId="1")

    with pytest.raises(ClientError) as refused:
        glue.update_table(DatabaseName=fresh_name, TableInput=table(2), VersionId="1")

    assert code_of(refused) == "ConcurrentModificationException"
    assert glue.get_table(DatabaseName=fresh_name, Name="counted")["Table"]["Parameters"]["count"] == "1"


def test_an_update_without_a_version_is_taken(glue: Any, fresh_name: str) -> None:
    glue.update_table(DatabaseName=fresh_name, TableInput=table(1))

    assert glue.get_table(DatabaseName=fresh_name, Name="counted")["Table"]["VersionId"] == "2"


@pytest.mark.parametrize(("skip", "kept"), [(False, ["1", "2"]), (True, ["2"])])
def test_the_version_before_is_archived_unless_the_update_says_no(
    glue: Any, fresh_name: str, skip: bool, kept: list[str]
) -> None:
    glue.update_table(DatabaseName=fresh_name, TableInput=table(1), VersionId="1", SkipArchive=skip)

    versions = glue.get_table_versions(DatabaseName=fresh_name, TableName="counted")["TableVersions"]

    assert sorted(version["VersionId"] for version in versions) == kept


def test_of_concurrent_writers_none_loses_an_update(glue: Any, fresh_name: str) -> None:
    def count_up(_: int) -> None:
        while True:
            now = glue.get_table(DatabaseName=fresh_name, Name="counted")["Table"]
            more = table(int(now["Parameters"]["count"]) + 1)
            try:
                glue.update_table(DatabaseName=fresh_name, TableInput=more, VersionId=now["VersionId"])
            except glue.exceptions.ConcurrentModificationException:
                continue
            return

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(count_up, range(40)))

    counted = glue.get_table(DatabaseName=fresh_name, Name="counted")["Table"]
    assert counted["Parameters"]["count"] == "40"


def test_a_deleted_table_is_forgotten_and_can_be_made_again(glue: Any, fresh_name: str) -> None:
    glue.delete_table(DatabaseName=fresh_name, Name="counted")
    glue.create_table(DatabaseName=fresh_name, TableInput=table(7))

    assert glue.get_table(DatabaseName=fresh_name, Name="counted")["Table"]["VersionId"] == "1"
