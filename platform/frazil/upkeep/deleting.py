"""Deleting files, several at a time."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyiceberg.io import FileIO

__all__ = ["delete_files"]

_AT_ONCE = 8


def delete_files(io: FileIO, paths: Iterable[str]) -> None:
    """Deletes them; one that is gone already is as good as deleted."""

    def delete(path: str) -> None:
        with suppress(FileNotFoundError):
            io.delete(path)

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="deleting") as pool:
        list(pool.map(delete, paths))
