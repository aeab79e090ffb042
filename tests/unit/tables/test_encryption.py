"""With `FRAZIL_S3__KMS_KEY` each file of a table is encrypted by that key: data, manifests and metadata."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import boto3
import pyarrow as pa
import pytest
from pyarrow.fs import LocalFileSystem
from pyiceberg.table import Table

from frazil.errors import NotAllowedError, PartDownError
from frazil.formats.logical import Field, Primitive
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.tables.catalogs.catalog import catalog_errors, open_catalog
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.object_store.encryption import encrypting
from frazil.tables.creation import create_table
from frazil.tables.writing.data_files import file_layout, write_files
from frazil.tables.writing.unwritable import unwritable
from kit.wires.lying import glue_in_process
from kit.wires.wire import Wire, puts, wired

KEY = "arn:aws:kms:eu-central-1:123456789012:key/0a1b2c3d"
NAME = TableName("n", "t")
FIELDS = Field("n", Primitive("long")), Field("text", Primitive("string"))
ROWS = pa.table({"n": pa.array(range(3), pa.int64()), "text": ["a", "b", "c"]})
IDENTITY = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Wire, Settings, Any]]:
    """A wire before a Glue and an S3 in this process, and S3's own client of the bucket."""
    with glue_in_process(tmp_path_factory.mktemp("glue")) as url, wired({"s3": url}) as (wire, urls):
        s3 = boto3.client("s3", endpoint_url=url, **IDENTITY)
        s3.create_bucket(Bucket="lake")
        settings = Settings.load(
            catalog="glue",
            glue={"endpoint": url, "warehouse": "s3://lake/tables"},
            s3={"endpoint": urls["s3"], "kms_key": KEY},
            aws={"access_key": "key", "secret_key": "secret"},
        )
        open_catalog(settings).create_namespace(NAME.namespace)
        yield wire, settings, s3


@pytest.fixture
def wire(lake: tuple[Wire, Settings, Any]) -> Iterator[Wire]:
    """Calm again when the test ends."""
    yield lake[0]
    lake[0].calm()


@pytest.fixture
def table(lake: tuple[Wire, Settings, Any]) -> Iterator[Table]:
    catalog = open_catalog(lake[1])
    yield create_table(TableHandle(catalog, NAME), FIELDS, (), {})
    lake[0].calm()
    catalog.purge_table(NAME.identifier)


@pytest.fixture
def logins() -> Iterator[list[Message]]:
    """The headers of what an S3 was asked to keep, behind its address."""
    seen = [Message()]

    class S3(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            seen.append(self.headers)
            self.send_response(200)
            self.send_header("ETag", '"a"')
            self.send_header("Content-Length", "0")
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), S3) as server:
        seen[0]["endpoint"] = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield seen
        server.shutdown()
        thread.join()


def keys_of(s3: Any) -> dict[str, tuple[str | None, str | None]]:
    """How each object of the bucket is encrypted, and by which key."""
    keys = {}
    for each in s3.list_objects_v2(Bucket="lake")["Contents"]:
        head = s3.head_object(Bucket="lake", Key=each["Key"])
        keys[each["Key"]] = head.get("ServerSideEncryption"), head.get("SSEKMSKeyId")
    return keys


def test_each_file_of_a_table_is_encrypted_by_the_key(lake: tuple[Wire, Settings, Any], table: Table) -> None:
    with table.transaction() as tx, tx.update_snapshot().fast_append() as snapshot:
        for file in write_files(table, ROWS):
            snapshot.append_data_file(file)

    keys = keys_of(lake[2])
    assert {name.rpartition(".")[2] for name in keys} == {"parquet", "avro", "json"}
    assert {*keys.values()} == {("aws:kms", KEY)}
    assert table.scan().to_arrow().sort_by("n") == ROWS.cast(table.scan().to_arrow().schema)


def test_workers_that_are_sent_the_layout_write_by_the_key_as_well(
    lake: tuple[Wire, Settings, Any], table: Table
) -> None:
    store = pickle.loads(pickle.dumps(file_layout(table).store))

    with store.open_output_stream("lake/large one=1.bin") as out:
        for _ in range(3):
            out.write(bytes(7 * 2**20))  # more than goes in one part

    assert unwritable(table) == []
    assert keys_of(lake[2])["large one=1.bin"] == ("aws:kms", KEY)
    with store.open_input_file("lake/large one=1.bin") as file:
        assert file.size() == 21 * 2**20
    store.delete_file("lake/large one=1.bin")


def test_whoever_writes_is_who_the_settings_say_whatever_the_environment_has(
    table: Table, logins: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token of the environment beside keys of the settings is nobody's login."""
    for word in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"):
        monkeypatch.setenv(f"AWS_{word}", "another")
    properties = {**table.io.properties, "s3.access-key-id": "key", "s3.secret-access-key": "hidden"}
    store = encrypting(LocalFileSystem(), {**properties, "s3.endpoint": logins[0]["endpoint"]})

    with store.open_output_stream("lake/a.bin") as out:
        out.write(b"a")

    assert "Credential=key/" in logins[1]["Authorization"]
    assert logins[1]["x-amz-security-token"] is None
    assert "hidden" not in f"{store!r} {store.handler!r} {vars(store.handler)!r}"


@pytest.mark.parametrize(
    ("fate", "error", "expected"),
    [
        ("throttled", PartDownError, "does not answer"),
        ("unsent", PartDownError, "does not answer"),
        ("forbidden", NotAllowedError, r"s3:PutObject[\s\S]*arn:aws:s3:::lake/\*"),
    ],
)
def test_storage_that_takes_no_file_is_told_as_with_any_other_file(
    lake: tuple[Wire, Settings, Any],
    wire: Wire,
    table: Table,
    fate: Any,
    error: type[Exception],
    expected: str,
) -> None:
    wire.always(fate, puts)

    with pytest.raises(error, match=expected), catalog_errors(lake[1]):
        write_files(table, ROWS)
    assert wire.met["s3", fate]
