"""Requests of this process to the store, counted by table: what a commit says of them is what they cost.

Imports no library: tasks count as well, and say what they counted with what they wrote.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from threading import Lock

REQUESTS = "frazil.requests"
"""In the summary of a snapshot: what was asked of the store for it, as JSON. It is no part of a ledger."""

OPENED = 2
"""Requests for a file that is opened and read at once: one for its size, one for its bytes."""


_PART = 10 * 2**20
"""Bytes from which PyArrow puts a file in parts, with a request before them and one behind."""


def puts_of(size: int) -> int:
    """Requests by which a data file is put."""
    return 1 if size < _PART else -(-size // _PART) + 2


@dataclass(frozen=True, slots=True)
class Requests:
    """What a store was asked for.

    Args:
        reads: Requests for a file's size, all of its bytes or a part: S3 bills them alike.
        puts: Requests that put, beside one for each data file: manifests, their lists, parts of large files.
        bytes: Of manifests and their lists.
    """

    reads: int = 0
    puts: int = 0
    bytes: int = 0

    def __add__(self, other: Requests) -> Requests:
        return Requests(self.reads + other.reads, self.puts + other.puts, self.bytes + other.bytes)

    @property
    def summary(self) -> dict[str, str]:
        """What a snapshot says of them."""
        return {REQUESTS: json.dumps(asdict(self))}

    @classmethod
    def of(cls, summary: Mapping[str, str]) -> Requests | None:
        """What a snapshot says of them; None where it says nothing."""
        with suppress(KeyError, ValueError, TypeError):
            summed = json.loads(summary[REQUESTS])
            return cls(*(int(summed[field.name]) for field in fields(cls)))
        return None


DELETED = Requests(reads=1, puts=1)
"""By PyArrow for a file that it deletes: it looks for it, and puts a marker of its folder at the end."""


class RequestCounter:
    """Counts requests by table, until a commit takes what it is to say; safe for threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_table: defaultdict[str, Requests] = defaultdict(Requests)
        self.reads = 0  # of all tables, ever

    def of_file(self, path: str, requests: Requests) -> None:
        """Counts those for a file of a table; a file of this machine costs none."""
        scheme, mark, _ = path.partition("://")
        if mark and scheme != "file":
            self.of_table(path[: max(path.rfind("/metadata/"), path.rfind("/data/"))], requests)

    def of_table(self, location: str, requests: Requests) -> None:
        """Counts those for a table."""
        with self._lock:
            self._by_table[_key(location)] += requests
            self.reads += requests.reads

    def take(self, location: str) -> Requests:
        """What was counted for a table since the last time."""
        with self._lock:
            return self._by_table.pop(_key(location), Requests())


def _key(location: str) -> str:
    """A table's place, whichever of S3's schemes names it."""
    return location.partition("://")[2].rstrip("/")


REQUESTED = RequestCounter()
"""Those of this process."""
