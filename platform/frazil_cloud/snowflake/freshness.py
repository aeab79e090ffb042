"""Since when Snowflake shows less of a table than Glue does.

Glue tells when a table changed last. Of one that is written all the time that is always just now, so the
metadata files tell it: each names its time, and those of the files and snapshots before it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from frazil_cloud.aws.client import GoneError

Metadata: TypeAlias = Mapping[str, Any]
ReadMetadata: TypeAlias = Callable[[str], Metadata | None]
"""Reads a metadata file by its location; None: it is gone."""

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Pointer:
    """The metadata file that a catalog shows of a table, and since when."""

    location: str
    since: datetime


def behind_since(shown: str, pointer: Pointer, read: ReadMetadata) -> datetime:
    """When a catalog showed something newer for the first time; or later, where files forget their past.

    Args:
        shown: The metadata file that Snowflake shows, another than the catalog's.
        pointer: What the catalog shows.
        read: Reads both files.
    """
    newest, before = read(pointer.location), read(shown)
    if newest is None:
        return pointer.since
    if before is None:
        return _time(min(_files(newest)))
    then = int(before["last-updated-ms"])
    later = [each for each in (*_files(newest), *_snapshots(newest)) if each > then]
    return _time(min(later)) if later else pointer.since


def read_by(s3: Any) -> ReadMetadata:
    """Reads metadata files in S3, also those that are packed."""

    def read(location: str) -> Metadata | None:
        bucket, _, key = location.removeprefix("s3://").partition("/")
        try:
            stored: bytes = s3.content(Bucket=bucket, Key=key)
        except GoneError:
            return None
        metadata: Metadata = json.loads(gzip.decompress(stored) if stored.startswith(_GZIP) else stored)
        return metadata

    return read


def _files(metadata: Metadata) -> Iterator[int]:
    yield int(metadata["last-updated-ms"])
    yield from (int(each["timestamp-ms"]) for each in metadata.get("metadata-log") or ())


def _snapshots(metadata: Metadata) -> Iterator[int]:
    yield from (int(each["timestamp-ms"]) for each in metadata.get("snapshots") or ())


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
