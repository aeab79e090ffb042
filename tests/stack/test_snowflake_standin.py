from __future__ import annotations

import base64
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pyarrow as pa
import pytest
import requests
import snowflake.connector
import stamina
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from pyiceberg.io import load_file_io
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate, update_table_metadata
from pyiceberg.typedef import Record
from snowflake.connector.errors import DatabaseError, ProgrammingError

from frazil.catalogs.glue_entries import sync_glue
from frazil.connections import Connections
from frazil.local.snowflake.keypair import fingerprint
from frazil.naming import Things, things
from frazil.settings import Settings
from frazil.spec import TableSpec
from frazil.warehouse.storage import volume_of

SCHEMA = pa.schema(
    [
        pa.field("symbol", pa.string()),
        pa.field("ratio", pa.float32()),
        pa.field("$$headers", pa.map_(pa.string(), pa.binary())),
        pa.field("$$offset", pa.int64()),
    ]
)
ROLE_ARN = "arn:aws:iam::123456789012:role/reader"
NOT_THERE = (2003, "02000")
BAD_TOKEN = 390144


def volume_sql(name: str, base_url: str) -> str:
    return (
        f"create external volume {name} storage_locations = ((name = 'l' storage_provider = 'S3' "
        f"storage_base_url = '{base_url}' storage_aws_role_arn = '{ROLE_ARN}'))"
    )


def access_sql(settings: Settings) -> tuple[str, str]:
    """Makes a volume over the tables of the catalog in force, and an integration with Glue."""
    return (
        volume_sql("v", volume_of(settings).base_url),
        "create catalog integration g catalog_source = glue table_format = iceberg "
        f"glue_aws_role_arn = '{ROLE_ARN}' glue_catalog_id = '123456789012' enabled = true",
    )


@dataclass(frozen=True, slots=True)
class KeyPair:
    private: rsa.RSAPrivateKey

    @property
    def public(self) -> str:
        return base64.b64encode(self._encoded(Encoding.DER)).decode()

    @property
    def public_pem(self) -> bytes:
        return self._encoded(Encoding.PEM)

    @property
    def private_der(self) -> bytes:
        return self.private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())

    def _encoded(self, encoding: Encoding) -> bytes:
        return self.private.public_key().public_bytes(encoding, PublicFormat.SubjectPublicKeyInfo)


def new_key() -> KeyPair:
    return KeyPair(rsa.generate_private_key(65537, 2048))


class StandIn:
    """A stand-in of the test's own, over the shared stack's Glue and S3."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.key = new_key()
        self.port = free_port()
        (folder / "admin.pem").write_bytes(self.key.public_pem)
        self._environment = environment(settings, folder, self.port)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> StandIn:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        command = [sys.executable, "-m", "frazil.local.snowflake"]
        self._process = subprocess.Popen(command, env=self._environment)
        try:
            self._wait_for_health()
        except BaseException:
            self.stop(signal.SIGKILL)
            raise

    def _wait_for_health(self) -> None:
        refused = requests.ConnectionError
        for attempt in stamina.retry_context(on=refused, attempts=None, timeout=60, wait_max=0.3):
            with attempt:
                requests.get(f"http://127.0.0.1:{self.port}/health", timeout=5).raise_for_status()

    def stop(self, how: int = signal.SIGTERM) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(20)

    def connect(self, user: str = "boss", **how: Any) -> Any:
        given: dict[str, Any] = {
            "account": "frazil",
            "user": user,
            "host": "127.0.0.1",
            "port": self.port,
            "protocol": "http",
            "private_key": self.key.private_der,
            "session_parameters": {"CLIENT_OUT_OF_BAND_TELEMETRY_ENABLED": False},
            "login_timeout": 10,
            **how,
        }
        return closing(snowflake.connector.connect(**given))

    def rows(self, *statements: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def refusal(self, *statements: str) -> ProgrammingError:
        with pytest.raises(ProgrammingError) as refused:
            self.rows(*statements)
        return refused.value


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def environment(settings: Settings, folder: Path, port: int) -> dict[str, str]:
    assert settings.s3_access_key
    assert settings.s3_secret_key
    return {
        **os.environ,
        "FRAZIL_SNOWFLAKE_PORT": str(port),
        "FRAZIL_SNOWFLAKE_STATE": str(folder / "state"),
        "FRAZIL_SNOWFLAKE_ADMIN": "boss",
        "FRAZIL_SNOWFLAKE_ADMIN_KEY_FILE": str(folder / "admin.pem"),
        "FRAZIL_GLUE_ENDPOINT": settings.glue_endpoint or "",
        "FRAZIL_S3_ENDPOINT": settings.s3_endpoint or "",
        "AWS_ACCESS_KEY_ID": settings.s3_access_key.get_secret_value(),
        "AWS_SECRET_ACCESS_KEY": settings.s3_secret_key.get_secret_value(),
        "AWS_REGION": settings.s3_region,
    }


@pytest.fixture(scope="module")
def standin(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    with StandIn(stack, tmp_path_factory.mktemp("snowflake")) as started:
        started.rows("create database frz", "create schema frz.s", *access_sql(stack))
        yield started


@dataclass(frozen=True, slots=True)
class Trades:
    """An Iceberg table with one row, shown in Glue."""

    names: Things
    table: Table
    show: Callable[[], Any]

    def append(self, symbol: str) -> None:
        row = {"symbol": symbol, "ratio": 0.5, "$$headers": [("h", b"\x00\xff")], "$$offset": 7}
        self.table.append(pa.Table.from_pylist([row], schema=SCHEMA))

    def create_sql(self, name: str, volume: str = "v") -> str:
        return (
            f"create iceberg table {name} external_volume = '{volume}' catalog = 'g' "
            f"catalog_table_name = '{self.names.table.table}' "
            f"catalog_namespace = '{self.names.glue_database}'"
        )


@pytest.fixture
def trades(connections: Connections, fresh_name: str) -> Trades:
    names = things(TableSpec(topic=fresh_name), connections.settings)
    connections.catalog.create_namespace_if_not_exists(names.table.namespace)
    table = connections.catalog.create_table(names.table.identifier, SCHEMA)
    made = Trades(names, table, lambda: sync_glue(connections, names))
    made.append("ZTEST")
    made.show()
    return made


def test_a_user_with_its_own_key_gets_in(standin: StandIn) -> None:
    assert standin.rows("select 1") == [(1,)]


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"private_key": new_key().private_der}, id="another key"),
        pytest.param({"user": "nobody"}, id="an unknown user"),
        pytest.param({"role": "no_such_role"}, id="a role that is not there"),
        pytest.param({"private_key": None, "password": "boss"}, id="a password"),
    ],
)
def test_whoever_cannot_prove_to_be_a_user_stays_out(standin: StandIn, how: dict[str, Any]) -> None:
    with pytest.raises(DatabaseError) as refused, standin.connect(**how):
        pass

    assert refused.value.errno in {BAD_TOKEN, 390100, 390189}


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        ("iss", "FRAZIL.BOSS.SHA256:another"),
        ("sub", "FRAZIL.ANOTHER"),
        ("exp", datetime.now(UTC) - timedelta(minutes=1)),
        ("exp", datetime.now(UTC) + timedelta(hours=3)),
    ],
)
def test_a_token_that_says_anything_else_is_refused(standin: StandIn, claim: str, value: object) -> None:
    now = datetime.now(UTC)
    issuer = f"FRAZIL.BOSS.{fingerprint(standin.key.public)}"
    claims = {"iss": issuer, "sub": "FRAZIL.BOSS", "iat": now, "exp": now + timedelta(minutes=5)}

    assert login_code(standin, claims) is None
    assert login_code(standin, {**claims, claim: value}) == str(BAD_TOKEN)


def login_code(standin: StandIn, claims: dict[str, Any]) -> str | None:
    token = jwt.encode(claims, standin.key.private, algorithm="RS256")
    data = {
        "AUTHENTICATOR": "SNOWFLAKE_JWT",
        "ACCOUNT_NAME": "frazil",
        "LOGIN_NAME": "boss",
        "TOKEN": token,
    }
    url = f"http://127.0.0.1:{standin.port}/session/v1/login-request"
    code: str | None = requests.post(url, json={"data": data}, timeout=10).json().get("code")
    return code


def test_a_user_rotates_its_keys_without_being_locked_out(standin: StandIn) -> None:
    old, new = new_key(), new_key()
    standin.rows(f"create user rotor rsa_public_key = '{old.public}'")
    with pytest.raises(DatabaseError), standin.connect("rotor", private_key=new.private_der):
        pass

    standin.rows(f"alter user rotor set rsa_public_key_2 = '{new.public}'")
    for key in (old, new):
        with standin.connect("rotor", private_key=key.private_der) as connection:
            assert connection.cursor().execute("select 1").fetchone() == (1,)
    standin.rows("alter user rotor unset rsa_public_key")

    with pytest.raises(DatabaseError), standin.connect("rotor", private_key=old.private_der):
        pass
    described = {row[0]: row[1] for row in standin.rows("desc user rotor")}
    assert described["RSA_PUBLIC_KEY_FP"] == "null"
    assert described["RSA_PUBLIC_KEY_2_FP"] == fingerprint(new.public)


def test_grants_are_kept_shown_and_taken_back(standin: StandIn) -> None:
    standin.rows("create role reader", "grant usage on schema frz.s to role reader")
    held = [row[1:4] for row in standin.rows("show grants to role reader")]
    standin.rows("revoke usage on schema frz.s from role reader")

    assert held == [("USAGE", "SCHEMA", "FRZ.S")]
    assert standin.rows("show grants to role reader") == []


def test_a_role_must_be_granted_before_it_is_taken(standin: StandIn) -> None:
    key = new_key()
    standin.rows("create role analyst", f"create user ann rsa_public_key = '{key.public}'")
    with pytest.raises(DatabaseError):
        standin.connect("ann", private_key=key.private_der, role="analyst")
    standin.rows("grant role analyst to user ann")

    with standin.connect("ann", private_key=key.private_der, role="analyst") as connection:
        assert connection.role == "ANALYST"


@pytest.mark.parametrize(
    "sql",
    [
        "desc user nobody",
        "drop role no_role",
        "desc external volume no_volume",
        "desc catalog integration no_integration",
        "alter iceberg table frz.s.no_table refresh",
        "drop iceberg table frz.s.no_table",
        "grant usage on schema frz.s to role no_role",
        "select system$get_iceberg_table_information('frz.s.no_table')",
        "select system$verify_external_volume('no_volume')",
    ],
)
def test_what_is_not_there_is_refused_as_snowflake_does(standin: StandIn, sql: str) -> None:
    refused = standin.refusal(sql)

    assert (refused.errno, refused.sqlstate) == NOT_THERE


@pytest.mark.parametrize("sql", ["selec 1", "create role", "select no_such_function(1)"])
def test_nonsense_is_answered_at_once_and_not_repeated(standin: StandIn, sql: str) -> None:
    began = time.monotonic()
    standin.refusal(sql)

    assert time.monotonic() - began < 10


def test_verifying_a_volume_really_looks_into_s3(standin: StandIn) -> None:
    standin.rows(volume_sql("nowhere", "s3://no-such-bucket/"))
    good, bad = (
        standin.rows(f"select system$verify_external_volume('{name}')")[0][0] for name in ("v", "nowhere")
    )

    assert '"success": true' in good
    assert '"success": false' in bad
    assert "NoSuchBucket" in bad


def test_a_table_shows_iceberg_rows_and_metadata_columns(standin: StandIn, trades: Trades) -> None:
    name = f"frz.s.{trades.names.table.table}"
    standin.rows(trades.create_sql(name))

    query = f'select SYMBOL, ratio, "$$headers":h::varchar, "$$offset" from {name}'
    assert standin.rows(query) == [("ZTEST", 0.5, "00FF", 7)]
    assert standin.rows(f"select * from {name}") == [("ZTEST", 0.5, '{"h":"00FF"}', 7)]


def test_a_table_is_stale_until_it_is_refreshed(standin: StandIn, trades: Trades) -> None:
    name = f"frz.s.{trades.names.table.table}"
    standin.rows(trades.create_sql(name))
    trades.append("ZWZZT")
    trades.show()
    information = f"select system$get_iceberg_table_information('{name}')"
    before, stale = standin.rows(f"select count(*) from {name}"), standin.rows(information)
    standin.rows(f"alter iceberg table {name} refresh")

    assert before == [(1,)]
    assert trades.table.metadata_location not in stale[0][0]
    assert standin.rows(f"select count(*) from {name}") == [(2,)]
    assert trades.table.metadata_location in standin.rows(information)[0][0]


def test_a_table_is_listed_until_it_is_dropped(standin: StandIn, trades: Trades) -> None:
    short = trades.names.table.table
    listing = f"show iceberg tables like '{short}' in schema frz.s"
    standin.rows(trades.create_sql(f"frz.s.{short}"))
    shown = [row[1:4] for row in standin.rows(listing)]
    in_use = standin.refusal("drop external volume v")
    standin.rows(f"drop table frz.s.{short}")

    assert shown == [(short.upper(), "FRZ", "S")]
    assert short.upper() in str(in_use)
    assert standin.rows(listing) == []


def test_a_table_that_glue_does_not_know_is_refused(standin: StandIn) -> None:
    sql = (
        "create iceberg table frz.s.ghost external_volume = v catalog = g "
        "catalog_namespace = 'nowhere' catalog_table_name = 'ghost'"
    )

    assert "Glue table nowhere.ghost: EntityNotFoundException" in str(standin.refusal(sql))


def test_a_glue_table_of_another_type_is_refused(
    standin: StandIn, trades: Trades, connections: Connections
) -> None:
    database, table = trades.names.glue_database, trades.names.table.table
    connections.glue.delete_table(DatabaseName=database, Name=table)
    connections.glue.create_table(DatabaseName=database, TableInput={"Name": table})

    refused = standin.refusal(trades.create_sql(f"frz.s.{table}"))

    assert "is not of type ICEBERG" in str(refused)


def test_a_table_outside_of_the_volume_is_refused(standin: StandIn, trades: Trades) -> None:
    standin.rows(volume_sql("elsewhere", "s3://elsewhere/"))

    refused = standin.refusal(trades.create_sql("frz.s.outside", volume="elsewhere"))

    assert "not below the active storage location s3://elsewhere/" in str(refused)


def test_equality_deletes_are_refused_and_the_table_stays_as_it_was(
    standin: StandIn, trades: Trades, connections: Connections
) -> None:
    name = f"frz.s.{trades.names.table.table}"
    standin.rows(trades.create_sql(name))
    point_glue(connections, trades, with_equality_delete(trades.table))

    refused = standin.refusal(f"alter iceberg table {name} refresh")

    assert refused.errno == 91968
    assert standin.rows(f"select count(*) from {name}") == [(1,)]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_everything_survives_a_restart(
    stack: Settings, tmp_path: Path, trades: Trades, how: signal.Signals
) -> None:
    key = new_key()
    with StandIn(stack, tmp_path) as standin:
        standin.rows(
            "create database d",
            "create schema d.s",
            "create table d.s.plain (a int)",
            "insert into d.s.plain values (3)",
            *access_sql(stack),
            trades.create_sql("d.s.ice"),
            "create view d.s.ice_clean as select symbol from d.s.ice",
            f"create user ann rsa_public_key = '{key.public}'",
            "create database gone",
            "drop database gone",
        )
        standin.stop(how)
        standin.start()

        assert standin.rows("select a from d.s.plain") == [(3,)]
        assert standin.rows("select * from d.s.ice_clean") == [("ZTEST",)]
        assert [row[1] for row in standin.rows("show databases")] == ["D"]
        with standin.connect("ann", private_key=key.private_der) as connection:
            assert connection.cursor().execute("select 1").fetchone() == (1,)


class DeleteManifestWriter(ManifestWriterV2):
    """PyIceberg writes manifests of data files only."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def with_equality_delete(table: Table) -> str:
    """Writes metadata whose current snapshot deletes by equality, as Flink's upserts do."""
    io = load_file_io(table.io.properties, table.metadata_location)
    head = table.metadata.current_snapshot()
    assert head is not None
    snapshot_id, root = head.snapshot_id + 1, f"{table.location()}/metadata/{head.snapshot_id}"
    deletes = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES,
        file_path=f"{root}-deletes.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=1,
        file_size_in_bytes=1,
        equality_ids=[1],
    )
    entry = ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED, snapshot_id=snapshot_id, data_file=deletes
    )
    writer = DeleteManifestWriter(
        table.spec(), table.schema(), io.new_output(f"{root}-deletes.avro"), snapshot_id, "null"
    )
    with writer:
        writer.add_entry(entry)
    listing = io.new_output(f"{root}-list.avro")
    number = table.metadata.last_sequence_number + 1
    with write_manifest_list(2, listing, snapshot_id, head.snapshot_id, number, "null") as listed:
        listed.add_manifests([*head.manifests(io), writer.to_manifest_file()])
    snapshot = Snapshot(
        snapshot_id=snapshot_id,
        parent_snapshot_id=head.snapshot_id,
        sequence_number=number,
        timestamp_ms=table.metadata.last_updated_ms + 1,
        manifest_list=listing.location,
        summary=Summary(Operation.DELETE),
        schema_id=table.metadata.current_schema_id,
    )
    updates = (
        AddSnapshotUpdate(snapshot=snapshot),
        SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=snapshot_id),
    )
    metadata = update_table_metadata(table.metadata, updates)
    location = f"{root}-equality.metadata.json"
    ToOutputFile.table_metadata(metadata, io.new_output(location))
    return location


def point_glue(connections: Connections, trades: Trades, location: str) -> None:
    database, name = trades.names.glue_database, trades.names.table.table
    entry = connections.glue.get_table(DatabaseName=database, Name=name)["Table"]
    connections.glue.update_table(
        DatabaseName=database,
        TableInput={
            "Name": name,
            "TableType": "EXTERNAL_TABLE",
            "Parameters": {**entry["Parameters"], "metadata_location": location},
        },
        VersionId=entry["VersionId"],
    )
