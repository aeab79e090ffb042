"""Secrets that a test knows, in every setting that takes one, for a day of work on a locked stack.

All have one mark in them: a search for it finds whichever it is, and the text around says which.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any, get_args

import boto3
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from pydantic import SecretStr

from frazil.settings.profile import fields
from frazil_local.authority import Authority
from frazil_local.home import Home, s3_credentials, snowflake_keys, write_private
from frazil_local.ports import LOOPBACK

MARK = "planted7f3a"
PARTS = ("kafka", "registry", "catalog", "storage", "spark")
ELSEWHERE = "elsewhere"
"""A connection at which nobody answers: an error is where secrets show. Its Spark is the stack's."""
NOBODY = f"{LOOPBACK}:1"
_REGION = "us-east-1"


def secret_settings() -> set[str]:
    """Every setting that is a secret by its type, such as `kafka.password`."""
    return {".".join(path) for path, field in fields() if _takes_secret(field.annotation)}


def _takes_secret(annotation: Any) -> bool:
    return annotation is SecretStr or any(map(_takes_secret, get_args(annotation)))


def planted(name: str) -> str:
    """A secret: letters, digits, `-` and `_`."""
    return f"{MARK}-{name.replace('.', '-')}-0123456789abcdef"


def plant_parts(home: Home) -> None:
    """Chooses what the parts of a stack will ask of their clients; a stack that was up keeps what it has."""
    home.make()
    for part in PARTS:
        write_private(home.secrets / part, planted(part), once=True)
    write_private(home.secrets / "s3", f"{MARK}AccessKey\n{planted('s3')}\n", once=True)


@dataclass
class Planting:
    """Secrets of a profile: in turn as they are, by a variable, by a file, and by two services of AWS."""

    folder: Path
    aws_endpoint: str
    environment: dict[str, str] = field(default_factory=dict)
    settings: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._ways = cycle((str, self._in_environment, self._in_file, self._in_manager, self._in_store))
        for service in ("SECRETS_MANAGER", "SSM"):
            self.environment[f"AWS_ENDPOINT_URL_{service}"] = self.aws_endpoint

    def tell(self, setting: str, secret: str = "") -> str:
        """The secret of a setting, or where it is kept."""
        assert setting in secret_settings(), setting
        self.settings.add(setting)
        return next(self._ways)(secret or planted(setting))

    def _in_environment(self, secret: str) -> str:
        self.environment[f"PLANTED_{len(self.settings)}"] = secret
        return f"env:PLANTED_{len(self.settings)}"

    def _in_file(self, secret: str) -> str:
        file = self.folder / f"planted_{len(self.settings)}"
        write_private(file, f"{secret}\n")
        return f"file:{file}"

    def _in_manager(self, secret: str) -> str:
        name = f"planted-{uuid.uuid4()}"
        self._client("secretsmanager").create_secret(Name=name, SecretString=json.dumps({"key": secret}))
        return f"aws-secret:{name}#key"

    def _in_store(self, secret: str) -> str:
        name = f"/planted/{uuid.uuid4()}"
        self._client("ssm").put_parameter(Name=name, Value=secret, Type="SecureString")
        return f"aws-ssm:{name}"

    def _client(self, service: str) -> Any:
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        return boto3.client(service, endpoint_url=self.aws_endpoint, region_name=_REGION, **keys)

    def certificate(self, system: str, name: str) -> dict[str, str]:
        """A certificate of its own for a system, its key encrypted."""
        made = Authority(self.folder / f"{name}-{system}", "somebody").identity(system)
        password = self.tell(f"{system}.key_password")
        encrypt(made.key, made.key, planted(f"{system}.key_password"))
        return {"certificate": str(made.certificate), "key": str(made.key), "key_password": password}


def encrypt(key: Path, into: Path, passphrase: str) -> None:
    """Encrypts a PEM key."""
    encryption = BestAvailableEncryption(passphrase.encode())
    plain = load_pem_private_key(key.read_bytes(), None)
    write_private(into, plain.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode())


def profile_of_a_day(home: Home, planting: Planting, web: str, mail_port: int) -> dict[str, Any]:
    """The stack's own profile with a secret in every setting that takes one, here or at `ELSEWHERE`.

    Args:
        web: Takes alarms by POST, at any path.
        mail_port: Takes letters.
    """
    document: dict[str, Any] = json.loads(home.profile.read_text())
    for setting in ("kafka.password", "registry.user_info", "rest.client_secret", "spark.token"):
        system, name = setting.split(".")
        document[system][name] = planting.tell(setting, document[system][name])
    for system in ("kafka", "registry", "rest"):
        document[system] |= planting.certificate(system, "own")
    key = planting.folder / "snowflake.p8"
    encrypt(snowflake_keys(home).private, key, planted("snowflake.private_key_passphrase"))
    del document["snowflake"]["private_key_path"]
    document["snowflake"]["private_key"] = planting.tell("snowflake.private_key", key.read_text())
    document["snowflake"]["private_key_passphrase"] = planting.tell("snowflake.private_key_passphrase")
    document["confluent"] = {name: planting.tell(f"confluent.{name}") for name in ("api_key", "api_secret")}
    document["alarms"] = {
        name: planting.tell(f"alarms.{name}", f"{web}/{planted(name)}") for name in ("webhook", "slack")
    }
    document["alarms"]["mail"] = {
        "host": LOOPBACK, "port": mail_port, "security": "none", "user": "frazil",
        "password": planting.tell("alarms.mail.password"), "sender": "a@b.test", "to": "c@d.test",
    }  # fmt: skip
    document["named_keys"] = {"masks": planting.tell("named_keys")}
    document["connections"] = {ELSEWHERE: _elsewhere(planting)}
    return document


def _elsewhere(planting: Planting) -> dict[str, Any]:
    tell = planting.tell
    oauth = {"token_url": f"http://{NOBODY}/token", "client_id": "frazil"}
    return {
        "kafka": {
            "bootstrap_servers": NOBODY, "mechanism": "OAUTHBEARER", "username": None, "password": None,
            **oauth, "client_secret": tell("kafka.client_secret"),
        },
        "registry": {
            "url": f"http://{NOBODY}", "user_info": None, "token": tell("registry.token"),
            **oauth, "client_secret": tell("registry.client_secret"),
        },
        "rest": {
            "uri": f"http://{NOBODY}", "token_url": None, "client_id": None, "client_secret": None,
            "token": tell("rest.token"),
        },
        "aws": {
            **{name: tell(f"aws.{name}") for name in ("access_key", "secret_key", "session_token")},
            "role_arn": "arn:aws:iam::123456789012:role/r", "external_id": tell("aws.external_id"),
        },
        "snowflake": {
            "host": LOOPBACK, "port": 1, "private_key": None, "private_key_passphrase": None,
            "token": tell("snowflake.token"),
        },
    }  # fmt: skip


def keys_of(home: Home, planting: Planting) -> Iterator[str]:
    """A line of each private key: what is written of a key is written whole."""
    files = [*planting.folder.rglob("*.key"), *planting.folder.glob("*.p8")]
    for file in (*files, *home.tls.glob("*.key"), snowflake_keys(home).private):
        yield file.read_text().splitlines()[1]


def secrets_of(home: Home, planting: Planting) -> list[str]:
    """What is looked for: one mark for all secrets that were planted, and the keys."""
    return [MARK, s3_credentials(home).secret_key, *keys_of(home, planting)]
