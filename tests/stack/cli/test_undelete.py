"""`frazil undelete`: all files of a table are deleted by mistake, and its bucket keeps their versions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from frazil.clients import Clients
from frazil.settings.profile import Settings
from frazil.tables.catalogs.client_properties import pyiceberg_properties
from frazil.upkeep.storage import delete_files
from kit.clouds.versioned import s3_client, versioned_bucket
from kit.readers.stored import files_under
from kit.runs.shell import Command

ROWS = pa.table({"quantity": pa.array(range(100), pa.int64())})


@pytest.fixture
def bucket(stack: Settings, fresh_name: str) -> str:
    return versioned_bucket(stack, fresh_name)


def catalog_at(settings: Settings, folder: Path) -> SqlCatalog:
    keys = settings.aws
    assert keys.access_key
    assert keys.secret_key
    own = {
        "uri": f"sqlite:///{folder}/own.db",
        "s3.access-key-id": keys.access_key.get_secret_value(),
        "s3.secret-access-key": keys.secret_key.get_secret_value(),
    }
    return SqlCatalog("own", **{**pyiceberg_properties(settings), **own})


def test_a_table_whose_files_were_deleted_is_there_again(
    stack: Settings, bucket: str, tmp_path: Path, frazil: Command
) -> None:
    prefix, catalog = f"s3://{bucket}/shop", catalog_at(stack, tmp_path)
    catalog.create_namespace("shop")
    table = catalog.create_table(("shop", "orders"), ROWS.schema, f"{prefix}/orders")
    for _ in range(2):
        table.append(ROWS)
    files = sorted(files_under(table))
    s3_client(stack).put_object(Bucket=bucket, Key="shops/another", Body=b"")
    since = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
    delete_files(table.io, files)
    s3_client(stack).delete_object(Bucket=bucket, Key="shops/another")

    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    late = frazil("undelete", "--from", prefix, "--since", tomorrow)
    would = frazil("undelete", "--from", prefix, "--since", since, "--dry-run", "--json")
    gone = files_under(table)
    done = frazil("undelete", "--from", prefix, "--since", since, "--json")

    assert (would.code, would.document["files"], sorted(would.document["samples"])) == (0, len(files), files)
    assert list(gone) == []
    assert (done.code, done.document["files"]) == (0, len(files))
    assert sorted(files_under(table)) == files
    assert catalog.load_table(table.name()).scan().to_arrow().num_rows == 200
    again = frazil("undelete", "--from", prefix, "--since", since)
    for each in (late, again):
        assert (each.code, each.is_clear, "was deleted since" in each.err) == (1, True, True)


def test_a_table_without_catalog_and_metadata_files_comes_back_by_the_command_that_is_named(
    stack: Settings, bucket: str, tmp_path: Path, frazil: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_CATALOG", "glue")
    prefix, lost = f"s3://{bucket}/shop", catalog_at(stack, tmp_path)
    lost.create_namespace("shop")
    table = lost.create_table(("shop", "orders"), ROWS.schema, f"{prefix}/{bucket}/orders")
    table.append(ROWS)
    since = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
    delete_files(table.io, [path for path in files_under(table) if path.endswith(".metadata.json")])

    refused = frazil("rebuild-catalog", "--from", prefix, "--json")
    back = frazil("undelete", "--from", prefix, "--since", since)
    done = frazil("rebuild-catalog", "--from", prefix, "--json")

    assert (refused.code, [each["outcome"] for each in refused.document["tables"]]) == (1, ["failed"])
    assert "`frazil undelete`" in refused.document["tables"][0]["error"]["todo"]
    assert (back.code, [each["outcome"] for each in done.document["tables"]]) == (0, ["rebuilt"])
    glue = Clients(stack.with_changes(catalog="glue")).catalog
    assert glue.load_table((bucket, "orders")).scan().to_arrow().num_rows == 100


def test_a_place_that_can_give_nothing_back_is_named_as_that(frazil: Command) -> None:
    since = ("--since", "2026-11-21T17:00")

    words = [
        frazil("undelete", "--from", prefix, *since)
        for prefix in ("lake/nobody", "s3://lakes/nobody", "s3://lake/nobody")
    ]

    assert all(each.code and each.is_clear for each in words)
    signs = ("no place of S3", "no bucket", "keeps no versions")
    assert [sign in each.err for sign, each in zip(signs, words, strict=True)] == [True] * 3
