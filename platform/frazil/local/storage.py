"""S3 and the Iceberg REST catalog: SeaweedFS, all of it in one process."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from frazil.local.asking import Credentials, get_signed
from frazil.local.home import Home
from frazil.local.ports import LOOPBACK, Ports
from frazil.local.server import Launch, Server

__all__ = ["BUCKET", "TABLE_BUCKET", "storage"]

BUCKET = "lake"
TABLE_BUCKET = "warehouse"

_PORTS = {
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


def storage(home: Home, ports: Ports, credentials: Credentials) -> Server:
    """Object storage with the bucket `lake` and the table bucket `warehouse`.

    Args:
        home: Of the stack.
        ports: Of the stack.
        credentials: Of its one user, who may do everything.
    """

    def launch() -> Launch:
        options = {
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
            **{flag: ports[name] for name, flag in _PORTS.items()},
        }
        flags = [f"-{name}={value}" for name, value in options.items()]
        program = Path(sysconfig.get_path("scripts")) / "weed"
        return Launch((str(program), "-logtostderr=true", "mini", *flags), _environment(credentials))

    def ask() -> None:
        s3, rest = (f"http://{LOOPBACK}:{ports[name]}" for name in ("s3", "rest"))
        get_signed(f"{s3}/{BUCKET}?list-type=2&max-keys=1", "s3", credentials)
        get_signed(f"{rest}/v1/config?warehouse={TABLE_BUCKET}", "s3tables", credentials)

    return Server("storage", tuple(_PORTS), launch, ask)


def _environment(credentials: Credentials) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": credentials.access_key,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_key,
        "GOMEMLIMIT": "512MiB",  # without it, it grows to 1.9 GB
    }
