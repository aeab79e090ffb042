"""The clouds of a stack that is started `--with cloud`, and what an administrator is told of them."""

from __future__ import annotations

import base64
import sys
from typing import Any

from frazil_local.cloud.aws import ROOT
from frazil_local.home import Credentials, Home, secret
from frazil_local.ports import LOOPBACK, Ports, url
from frazil_local.server import Launch, Server, get, get_signed
from frazil_local.servers.stand_ins import snowflake_login, snowflake_over

_AWS = "cloud-aws"
_CONFLUENT = "cloud-confluent"
_SNOWFLAKE = "cloud-snowflake"
_KEY = "frazil"  # of the administrator in Confluent Cloud


def has_clouds(home: Home) -> bool:
    """Whether a stack is started with clouds."""
    return home.clouds.exists()


def add_clouds(home: Home) -> None:
    """Makes a stack that is down start with clouds from now on."""
    home.clouds.touch(mode=0o600)


def leave_clouds(home: Home) -> None:
    """Makes it start without; what the clouds keep stays until `wipe`."""
    home.clouds.unlink(missing_ok=True)
    home.administrator.unlink(missing_ok=True)


def cloud_servers(home: Home, ports: Ports) -> list[Server]:
    """The parts that such a stack has besides."""
    return [_aws(home, ports), _confluent(home, ports), _snowflake(home, ports)]


def administrator(home: Home, ports: Ports) -> dict[str, Any]:
    """The settings of who may make everything in these clouds, for `cloud.json`: a profile of its own."""
    return {
        "aws": {"endpoint": url(ports, _AWS), "region": "us-east-1", "access_key": ROOT, "secret_key": ROOT},
        "confluent": {
            "endpoint": url(ports, _CONFLUENT), "api_key": _KEY, "api_secret": secret(home, _CONFLUENT)
        },
        "snowflake": snowflake_login(home, ports, _SNOWFLAKE),
    }  # fmt: skip


def aws_identity(ports: Ports) -> dict[str, str]:
    """Who the machines of such a stack are at AWS, and where that is, as Java reads it.

    Iceberg 1.12 names no endpoint of STS, and beside a role none of Glue; where it does, that wins.
    """
    return {**Credentials(ROOT, ROOT).environment, "AWS_ENDPOINT_URL": url(ports, _AWS)}


def _aws(home: Home, ports: Ports) -> Server:
    def launch() -> Launch:
        state = {"FRAZIL_CLOUD_AWS_PORT": str(ports[_AWS]), "FRAZIL_CLOUD_AWS_STATE": str(home.data(_AWS))}
        return Launch((sys.executable, "-m", "frazil_local.cloud.aws.server"), state)

    def ask() -> None:
        body, headers = (
            b"Action=GetCallerIdentity&Version=2011-06-15",
            {"Content-Type": "application/x-www-form-urlencoded"},
        )
        get_signed(url(ports, _AWS), "sts", Credentials(ROOT, ROOT), headers, body)

    return Server(_AWS, (_AWS,), launch, ask)


def _confluent(home: Home, ports: Ports) -> Server:
    """Confluent Cloud, which takes roles at the AWS beside it; its registry is a gate before the stack's."""

    def launch() -> Launch:
        variables = {
            "FRAZIL_CLOUD_CONFLUENT_PORT": str(ports[_CONFLUENT]),
            "FRAZIL_CLOUD_CONFLUENT_STATE": str(home.data(_CONFLUENT)),
            "FRAZIL_CLOUD_CONFLUENT_AWS": url(ports, _AWS),
            "FRAZIL_CLOUD_CONFLUENT_PROFILE": str(home.profile),
            "FRAZIL_CLOUD_CONFLUENT_BOOTSTRAP": f"{LOOPBACK}:{ports['kafka-cloud']}",
            "FRAZIL_CLOUD_CONFLUENT_SEED": secret(home, "kafka-cloud"),
            "FRAZIL_CLOUD_CONFLUENT_KEY": _KEY,
            "FRAZIL_CLOUD_CONFLUENT_SECRET": secret(home, _CONFLUENT),
        }
        return Launch((sys.executable, "-m", "frazil_local.cloud.confluent.server"), variables)

    def ask() -> None:
        login = base64.b64encode(f"{_KEY}:{secret(home, _CONFLUENT)}".encode()).decode()
        get(f"{url(ports, _CONFLUENT)}/org/v2/environments", {"Authorization": f"Basic {login}"})

    return Server(_CONFLUENT, (_CONFLUENT,), launch, ask, (_AWS, "kafka", "registry"))


def _snowflake(home: Home, ports: Ports) -> Server:
    """A Snowflake where grants count, and that takes roles at the AWS beside it."""
    variables = {
        "FRAZIL_SNOWFLAKE_STRICT": "true",
        "FRAZIL_SNOWFLAKE_AWS": url(ports, _AWS),
        "FRAZIL_GLUE_ENDPOINT": url(ports, _AWS),
        "FRAZIL_S3_ENDPOINT": url(ports, _AWS),
    }
    return snowflake_over(home, ports, _SNOWFLAKE, variables, after=(_AWS,))
