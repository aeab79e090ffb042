"""Storage that has no room left, as its clients see that: each write is answered 500, and all can be read."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyiceberg.io import FileIO

from frazil_local.ports import LOOPBACK
from frazil_local.servers.stand_ins import BUCKET
from frazil_local.stack import Stack
from kit.runs.waiting import PATIENCE, wait_for

__all__ = ["full_storage"]

_MB = 2**20


@contextmanager
def full_storage(stack: Stack, io: FileIO) -> Iterator[None]:
    """The bucket of a stack has used up its quota while the context lasts; `io` may write to it."""
    with io.new_output(f"s3://{BUCKET}/filler").create(overwrite=True) as filler:
        filler.write(os.urandom(2 * _MB))  # what can be compressed takes no room
    wait_for(lambda: "to read only" in _shell(stack, "set -sizeMB=1"))  # sizes are counted now and then
    try:
        yield
    finally:
        _shell(stack, "remove")


def _shell(stack: Stack, quota: str) -> str:
    """What SeaweedFS' shell says of another quota, enforced at once."""
    servers = [f"-{name}={_address(stack, name)}" for name in ("master", "filer")]
    commands = (
        "lock",
        f"s3.bucket.quota -name={BUCKET} -op={quota}",
        "s3.bucket.quota.enforce -apply",
        "unlock",
    )
    program = Path(sysconfig.get_path("scripts")) / "weed"
    done = subprocess.run(
        [program, "shell", *servers], input="\n".join((*commands, "")), capture_output=True, text=True,
        timeout=PATIENCE, check=True,
    )  # fmt: skip
    return done.stdout + done.stderr


def _address(stack: Stack, server: str) -> str:
    port, grpc = (stack.ports[f"storage-{server}{kind}"] for kind in ("", "-grpc"))
    return f"{LOOPBACK}:{port}.{grpc}"
