"""A Snowflake stand-in of a test's own."""

from __future__ import annotations

import base64
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from snowflake.connector.errors import ProgrammingError

from frazil.publishing.snowflake.statements import volume_of
from frazil.settings.profile import Settings
from kit.runs.waiting import PATIENCE

ROLE_ARN = "arn:aws:iam::123456789012:role/reader"


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
    """A stand-in of the test's own, with what its process is told besides who logs in."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.key = new_key()
        self.port = free_port()
        (folder / "admin.pem").write_bytes(self.key.public_pem)
        own = {
            "FRAZIL_SNOWFLAKE_PORT": str(self.port),
            "FRAZIL_SNOWFLAKE_STATE": str(folder / "state"),
            "FRAZIL_SNOWFLAKE_ADMIN": "boss",
            "FRAZIL_SNOWFLAKE_ADMIN_KEY_FILE": str(folder / "admin.pem"),
        }
        self._environment = {**os.environ, **own, **environment}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> StandIn:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        command = [sys.executable, "-m", "frazil_local.snowflake.server"]
        self._process = subprocess.Popen(command, env=self._environment)
        try:
            self._wait_for_health()
        except BaseException:
            self.stop(signal.SIGKILL)
            raise

    def _wait_for_health(self) -> None:
        refused = (requests.ConnectionError, requests.Timeout)
        for attempt in stamina.retry_context(on=refused, attempts=None, timeout=PATIENCE, wait_max=0.3):
            with attempt:
                requests.get(f"http://127.0.0.1:{self.port}/health", timeout=60).raise_for_status()

    def stop(self, how: int = signal.SIGTERM) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(PATIENCE)

    def turn(self, **knobs: Any) -> None:
        """Turns the knobs; those that are not named go back."""
        address = f"http://127.0.0.1:{self.port}/_knobs"
        requests.post(address, json=knobs, timeout=60).raise_for_status()

    def connect(self, user: str = "boss", **how: Any) -> Any:
        given: dict[str, Any] = {
            "account": "frazil",
            "user": user,
            "host": "127.0.0.1",
            "port": self.port,
            "protocol": "http",
            "private_key": self.key.private_der,
            "session_parameters": {"CLIENT_OUT_OF_BAND_TELEMETRY_ENABLED": False},
            "login_timeout": 120,
            **how,
        }
        return closing(snowflake.connector.connect(**given))

    def rows(self, *statements: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def dicts(self, statement: str) -> list[dict[str, Any]]:
        with self.connect() as connection, connection.cursor(snowflake.connector.DictCursor) as cursor:
            return list(cursor.execute(statement).fetchall())

    def refusal(self, *statements: str) -> ProgrammingError:
        with pytest.raises(ProgrammingError) as refused:
            self.rows(*statements)
        return refused.value


def statement_of(path: str, body: bytes) -> str:
    """The statement of a request to Snowflake, if it is one."""
    if "/query-request" not in path:
        return ""
    return str(json.loads(gzip.decompress(body)).get("sqlText", ""))


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def over_stack(settings: Settings) -> dict[str, str]:
    """The shared stack's Glue and S3."""
    assert settings.aws.access_key
    assert settings.aws.secret_key
    return {
        "FRAZIL_GLUE_ENDPOINT": settings.glue.endpoint or "",
        "FRAZIL_S3_ENDPOINT": settings.s3.endpoint or "",
        "AWS_ACCESS_KEY_ID": settings.aws.access_key.get_secret_value(),
        "AWS_SECRET_ACCESS_KEY": settings.aws.secret_key.get_secret_value(),
        "AWS_REGION": settings.aws.region,
    }
