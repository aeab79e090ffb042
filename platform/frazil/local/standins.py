"""The two stand-ins for clouds, each a Python process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

from frazil.local.asking import Credentials, get, get_signed
from frazil.local.home import Home
from frazil.local.ports import LOOPBACK, Ports
from frazil.local.server import Launch, Server

__all__ = ["aws", "snowflake"]


def aws(home: Home, ports: Ports) -> Server:
    """Glue, IAM, STS, Secrets Manager and the rest that moto knows.

    Args:
        home: Of the stack.
        ports: Of the stack.
    """
    url = f"http://{LOOPBACK}:{ports['glue']}"

    def launch() -> Launch:
        state = {"FRAZIL_AWS_PORT": str(ports["glue"]), "FRAZIL_AWS_STATE": str(home.data("aws"))}
        return Launch((sys.executable, "-m", "frazil.local.aws"), state)

    def ask() -> None:
        headers = {
            "Content-Type": "application/x-amz-json-1.1",
            "X-Amz-Target": "AWSGlue.GetDatabases",
        }
        get_signed(url, "glue", Credentials("status", "status"), headers, b"{}")

    return Server("aws", ("glue",), launch, ask)


def snowflake(home: Home, ports: Ports, credentials: Credentials, user: str, public_key: Path) -> Server:
    """The Snowflake stand-in.

    Args:
        home: Of the stack.
        ports: Of the stack.
        credentials: For reading tables' files from S3, and Glue.
        user: Its first user.
        public_key: That user's key, PEM.
    """

    def launch() -> Launch:
        environment = {
            "FRAZIL_SNOWFLAKE_PORT": str(ports["snowflake"]),
            "FRAZIL_SNOWFLAKE_STATE": str(home.data("snowflake")),
            "FRAZIL_SNOWFLAKE_ADMIN": user,
            "FRAZIL_SNOWFLAKE_ADMIN_KEY_FILE": str(public_key),
            "FRAZIL_GLUE_ENDPOINT": f"http://{LOOPBACK}:{ports['glue']}",
            "FRAZIL_S3_ENDPOINT": f"http://{LOOPBACK}:{ports['s3']}",
            "AWS_ACCESS_KEY_ID": credentials.access_key,
            "AWS_SECRET_ACCESS_KEY": credentials.secret_key,
            "AWS_REGION": credentials.region,
        }
        return Launch((sys.executable, "-m", "frazil.local.snowflake"), environment)

    def ask() -> None:
        get(f"http://{LOOPBACK}:{ports['snowflake']}/health")

    return Server("snowflake", ("snowflake",), launch, ask, ("storage", "aws"))
