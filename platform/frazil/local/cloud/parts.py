"""The clouds of a stack that is started `--with cloud`, and what an administrator is told of them."""

from __future__ import annotations

import sys
from typing import Any

from frazil.local.cloud.aws.server import ROOT
from frazil.local.home import Credentials, Home
from frazil.local.ports import Ports, url
from frazil.local.server import Launch, Server, get_signed

_AWS = "cloud-aws"


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
    return [_aws(home, ports)]


def administrator(ports: Ports) -> dict[str, Any]:
    """The settings of who may make everything in these clouds, for `cloud.json`: a profile of its own."""
    return {
        "aws": {"endpoint": url(ports, _AWS), "region": "us-east-1", "access_key": ROOT, "secret_key": ROOT},
    }


def _aws(home: Home, ports: Ports) -> Server:
    def launch() -> Launch:
        state = {"FRAZIL_CLOUD_AWS_PORT": str(ports[_AWS]), "FRAZIL_CLOUD_AWS_STATE": str(home.data(_AWS))}
        return Launch((sys.executable, "-m", "frazil.local.cloud.aws.server"), state)

    def ask() -> None:
        body, headers = (
            b"Action=GetCallerIdentity&Version=2011-06-15",
            {"Content-Type": "application/x-www-form-urlencoded"},
        )
        get_signed(url(ports, _AWS), "sts", Credentials(ROOT, ROOT), headers, body)

    return Server(_AWS, (_AWS,), launch, ask)
