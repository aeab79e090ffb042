"""The report of a forgetting: what went, when, from which snapshots and files; with a checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from frazil.errors import MALFORMED, UsageError
from frazil.upkeep.forgetting.rows import Gone

_CHECKSUM = "sha256"


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """What one forgetting did or, on a dry run, would do. It holds none of the values.

    Attributes:
        columns: Those that the condition names; `condition_sha256` tells the condition itself again.
        at: Seconds since the epoch; so is `due`, when all older snapshots and files must be gone.
        gone: By table what went, dead letters and derived tables included.
        unread_dead_letters: Those that nobody could decode; they went only where their bytes hold a text.
        not_told: By table why nothing tells which of its rows hold what was forgotten.
        in_the_way: What keeps older snapshots or files.
        snapshots: By table the ids of those that went.
    """

    table: str
    columns: tuple[str, ...]
    condition_sha256: str
    at: float
    due: float
    by: str = ""
    version: str = ""
    dry_run: bool = False
    gone: tuple[Gone, ...] = ()
    unread_dead_letters: int = 0
    not_told: Mapping[str, str] = field(default_factory=dict)
    in_the_way: tuple[str, ...] = ()
    snapshots: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def rows(self) -> int:
        """Rows of all tables."""
        return sum(gone.rows for gone in self.gone)

    @property
    def document(self) -> dict[str, Any]:
        """For scripts and files; `sha256` is a checksum over all the rest, no signature."""
        document = json.loads(json.dumps(asdict(self)))
        for gone in document["gone"]:
            gone["snapshot_id"] = str(gone["snapshot_id"] or "")
        return {**document, _CHECKSUM: _checksum(document)}


def read_report(file: Path) -> dict[str, Any]:
    """A report as `document` tells it.

    Raises:
        UsageError: It is not a report, or somebody changed it.
    """
    try:
        document = dict(json.loads(file.read_text(encoding="utf-8")))
        checksum = document.pop(_CHECKSUM)
        (
            str(document["table"]),
            str(document["condition_sha256"]),
            [str(gone["table"]) for gone in document["gone"]],
        )
    except (OSError, *MALFORMED) as e:
        raise UsageError(
            f"{file} is no report of a forgetting.",
            where=f"{type(e).__name__}: {e}"[:200],
            todo="Name the file that `frazil forget TABLE --report FILE` wrote.",
        ) from None
    if checksum != _checksum(document):
        raise UsageError(
            f"{file} was changed: its checksum is not that of its content.",
            meaning="It proves nothing.",
            todo="Take the file as `frazil forget TABLE --report FILE` wrote it.",
        )
    return document


def _checksum(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
