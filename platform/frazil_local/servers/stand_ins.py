"""What stands in for clouds: SeaweedFS (S3, Iceberg REST), moto (Glue and more) and our own Snowflake."""

from __future__ import annotations

import json
import sys
import sysconfig
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from frazil_local.home import Credentials, Home, s3_credentials, secret, snowflake_keys
from frazil_local.locks import USER, locks_of
from frazil_local.ports import LOOPBACK, Ports, url
from frazil_local.server import Launch, Server, get, get_signed
from frazil_local.servers.gate import TOKENS

BUCKET = "lake"
TABLE_BUCKET = "warehouse"
SNOWFLAKE_USER = "FRAZIL"

_STORAGE_PORTS = {
    "s3": "s3.port",
    "s3-grpc": "s3.port.grpc",
    "rest": "s3.port.iceberg",
    "storage-master": "master.port",
    "storage-master-grpc": "master.port.grpc",
    "storage-volume": "volume.port",
    "storage-volume-grpc": "volume.port.grpc",
    "storage-filer": "filer.port",
    "storage-filer-grpc": "filer.port.grpc",
    "storage-admin": "admin.port",
    "storage-admin-grpc": "admin.port.grpc",
}
_METRICS = "metricsPort"

_SIGNED = ("SIGNING", "SIGNING_READ", "FILER_SIGNING", "FILER_SIGNING_READ")
_ROLES = ("MASTER", "VOLUME", "FILER", "S3", "ADMIN", "WORKER", "CLIENT")
_WEB = ("MASTER", "VOLUME", "FILER", "ADMIN", "CLIENT")
"""As `weed scaffold -config=security` names them: signed requests, servers, and those that speak HTTP."""


def storage(home: Home, ports: Ports) -> Server:
    """Object storage with the bucket `lake` and the table bucket `warehouse`; its one user may do all."""
    launch, ask = partial(_launch_storage, home, ports), partial(_ask_storage, home, ports)
    return Server("storage", (*_STORAGE_PORTS, "storage-metrics"), launch, ask)


def _launch_storage(home: Home, ports: Ports) -> Launch:
    flags = [f"-{name}={value}" for name, value in _storage_options(home, ports).items()]
    program = Path(sysconfig.get_path("scripts")) / "weed"
    credentials = s3_credentials(home)
    environment = {
        "AWS_ACCESS_KEY_ID": credentials.access_key,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_key,
        "GOMEMLIMIT": "512MiB",  # without it, it grows to 1.9 GB
        **_inner_locks(home),
    }
    return Launch((str(program), "-logtostderr=true", "mini", *flags), environment)


def _storage_options(home: Home, ports: Ports) -> dict[str, object]:
    locks = locks_of(home)
    return {
        "dir": home.data("storage"),
        "ip": LOOPBACK,
        "ip.bind": LOOPBACK,
        "master.telemetry": "false",
        "webdav": "false",
        "admin.ui": "false",
        "s3.port.lance": 0,
        "bucket": BUCKET,
        "tableBucket": TABLE_BUCKET,
        "filer.localSocket": home.scratch / "filer.sock",
        "s3.localSocket": home.scratch / "s3.sock",
        **{flag: ports[name] for name, flag in _STORAGE_PORTS.items()},
        # It asks nobody who they are, and 0 is nowhere.
        _METRICS: 0 if locks else ports["storage-metrics"],
        **({"s3.cert.file": locks.certificate, "s3.key.file": locks.key} if locks else {}),
    }


def _ask_storage(home: Home, ports: Ports) -> None:
    credentials, s3 = s3_credentials(home), s3_access(home, ports)
    ca = Path(s3["ca"]) if "ca" in s3 else None
    get_signed(f"{s3['endpoint']}/{BUCKET}?list-type=2&max-keys=1", "s3", credentials, ca=ca)
    get_signed(f"{url(ports, 'rest')}/v1/config?warehouse={TABLE_BUCKET}", "s3tables", credentials)


def _inner_locks(home: Home) -> dict[str, str]:
    """What SeaweedFS' own servers ask of each other in a locked stack; else each answers everybody.

    By gRPC and by HTTP each takes only who shows a certificate of the stack's authority.
    """
    if (locks := locks_of(home)) is None:
        return {}
    keys = {f"WEED_JWT_{name}_KEY": secret(home, "storage") for name in _SIGNED}
    servers = [f"GRPC_{role}" for role in _ROLES] + [f"HTTPS_{role}" for role in _WEB]
    certificates = {f"WEED_{server}_CERT": str(locks.certificate) for server in servers}
    certificates |= {f"WEED_{server}_KEY": str(locks.key) for server in servers}
    authorities = {f"WEED_{server}_CA": str(locks.ca) for server in ("GRPC", *servers)}
    return {**keys, **certificates, **authorities, "WEED_HTTPS_CLIENT_ENABLED": "true"}


def s3_access(home: Home, ports: Ports) -> dict[str, str]:
    """Where clients find S3, as the profile says it."""
    if (locks := locks_of(home)) is None:
        return {"endpoint": url(ports, "s3")}
    return {"endpoint": f"https://{LOOPBACK}:{ports['s3']}", "ca": str(locks.ca)}


def rest_access(home: Home, ports: Ports) -> dict[str, Any]:
    """How clients of the catalog get in, as the profile says it: signed, or with a token at the gate."""
    if (locks := locks_of(home)) is None:
        return {"uri": url(ports, "rest"), "warehouse": TABLE_BUCKET}
    uri = f"https://{LOOPBACK}:{ports['catalog']}"
    client = {"client_id": USER, "client_secret": secret(home, "catalog"), "token_url": f"{uri}{TOKENS}"}
    return {"uri": uri, "warehouse": TABLE_BUCKET, "ca": str(locks.ca), **client}


def catalog(home: Home, ports: Ports) -> Server:
    """The gate of a locked stack's catalog."""

    def launch() -> Launch:
        return Launch((sys.executable, "-m", "frazil_local.servers.gate", str(home.root)))

    def ask() -> None:
        access = rest_access(home, ports)
        client = f"client_id={USER}&client_secret={access['client_secret']}"
        token = json.loads(get(access["token_url"], body=client.encode(), ca=access["ca"]))["access_token"]
        headers = {"Authorization": f"Bearer {token}"}
        get(f"{access['uri']}/v1/config?warehouse={TABLE_BUCKET}", headers, ca=access["ca"])

    return Server("catalog", ("catalog",), launch, ask, ("storage",))


def aws(home: Home, ports: Ports) -> Server:
    """Glue, IAM, STS, Secrets Manager and the rest that moto knows."""

    def launch() -> Launch:
        state = {"FRAZIL_AWS_PORT": str(ports["glue"]), "FRAZIL_AWS_STATE": str(home.data("aws"))}
        return Launch((sys.executable, "-m", "frazil_local.servers.aws"), state)

    def ask() -> None:
        headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "AWSGlue.GetDatabases"}
        get_signed(url(ports, "glue"), "glue", Credentials("status", "status"), headers, b"{}")

    return Server("aws", ("glue",), launch, ask)


def snowflake(home: Home, ports: Ports) -> Server:
    """The Snowflake stand-in, over the stack's Glue and S3."""
    s3 = {f"FRAZIL_S3_{name.upper()}": value for name, value in s3_access(home, ports).items()}
    variables = {"FRAZIL_GLUE_ENDPOINT": url(ports, "glue"), **s3}
    return snowflake_over(home, ports, "snowflake", variables, after=("storage", "aws"))


def snowflake_over(
    home: Home, ports: Ports, name: str, variables: Mapping[str, str], after: tuple[str, ...]
) -> Server:
    """A Snowflake stand-in of that name, with its first user, over what it is told of."""

    def launch() -> Launch:
        environment = {
            "FRAZIL_SNOWFLAKE_PORT": str(ports[name]),
            "FRAZIL_SNOWFLAKE_STATE": str(home.data(name)),
            "FRAZIL_SNOWFLAKE_ADMIN": SNOWFLAKE_USER,
            "FRAZIL_SNOWFLAKE_ADMIN_KEY_FILE": str(snowflake_keys(home).public),
            **s3_credentials(home).environment,
            **variables,
        }
        return Launch((sys.executable, "-m", "frazil_local.snowflake.server"), environment)

    def ask() -> None:
        get(f"{url(ports, name)}/health")

    return Server(name, (name,), launch, ask, after)


def snowflake_login(home: Home, ports: Ports, name: str) -> dict[str, Any]:
    """How its first user logs in, as a profile says it."""
    return {
        "account": "frazil",
        "host": LOOPBACK,
        "port": ports[name],
        "protocol": "http",
        "user": SNOWFLAKE_USER,
        "private_key_path": str(snowflake_keys(home).private),
    }
