"""Files that were deleted by mistake come back from the versions that their bucket keeps.

A deletion in such a bucket puts a marker on top of a file's versions. Where the marker goes, the file is
there again; no version is deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from frazil.errors import ConfigureError, MissingError, UsageError
from frazil.settings.profile import Settings
from frazil.upkeep.versions.bucket import Versions, place_of

_NAMED = 20


@dataclass(frozen=True, slots=True)
class Undeleted:
    """What came back.

    Args:
        files: How many.
        samples: The first of them.
        dry_run: Whether they only would.
    """

    prefix: str
    files: int
    samples: tuple[str, ...]
    dry_run: bool


def undelete(settings: Settings, prefix: str, since: datetime, *, dry_run: bool = False) -> Undeleted:
    """Brings back each file below a prefix that is deleted, and was there at a moment.

    What ends in the middle is done again: files that are back have no marker any more.

    Raises:
        UsageError: The prefix is no place of S3.
        MissingError: Nothing below it was deleted since then, or the bucket keeps no versions.
        NotAllowedError: Another identity must do it.
        PartDownError: S3 does not answer.
        RepairError: S3 keeps some markers.
    """
    if (place := place_of(prefix)) is None:
        raise UsageError(f"{prefix!r} is no place of S3.", todo="Write s3://bucket/prefix.")
    files, samples = 0, list[str]()
    versions = Versions(settings, place)
    for markers in versions.deleted(since):
        if not dry_run:
            versions.remove(markers)
        files += len(markers)
        samples += [f"s3://{place.bucket}/{each.key}" for each in markers[: _NAMED - len(samples)]]
    if not files:
        raise _nothing(prefix, since, kept=versions.are_kept)
    return Undeleted(prefix, files, tuple(samples), dry_run)


def _nothing(prefix: str, since: datetime, *, kept: bool) -> ConfigureError:
    if not kept:
        return MissingError(
            "The bucket keeps no versions, so that deleted files are gone.",
            where=prefix,
            todo="Land what the topics still hold: `frazil reset TABLE`, then `frazil land TABLE`.",
        )
    return MissingError(
        f"No file below {prefix} was deleted since {since:%F %T} UTC.",
        todo="Take an earlier --since, or another --from. What a lifecycle rule of the bucket removed "
        "does not come back.",
    )
