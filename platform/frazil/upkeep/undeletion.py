"""Files that were deleted by mistake come back from the versions that their bucket keeps.

A deletion in such a bucket puts a marker on top of a file's versions. Where the marker goes, the file is
there again; no version is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from frazil.errors import STAYS, ConfigureError, MissingError, PartDownError, RepairError, UsageError
from frazil.settings.identity import aws_session
from frazil.settings.profile import Settings
from frazil.settings.refusals import aws_refusal
from frazil.tables.catalogs.client_properties import CONNECT_SECONDS, READ_SECONDS

_AT_ONCE = 1000
"""Markers that S3 takes in one request."""

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


@dataclass(frozen=True, slots=True)
class _Marker:
    key: str
    version: str


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
    bucket, folder = _parts(prefix)
    files, samples = 0, list[str]()
    s3 = _Storage(_client(settings), bucket)
    for markers in s3.pages(folder, since):
        if not dry_run:
            s3.remove(markers)
        files += len(markers)
        samples += [f"s3://{bucket}/{each.key}" for each in markers[: _NAMED - len(samples)]]
    if not files:
        raise _nothing(prefix, since, versions=s3.keeps_versions)
    return Undeleted(prefix, files, tuple(samples), dry_run)


def _parts(prefix: str) -> tuple[str, str]:
    scheme, _, rest = prefix.rstrip("/").partition("://")
    bucket, _, folder = rest.partition("/")
    if scheme not in ("s3", "s3a", "s3n") or not bucket:
        raise UsageError(f"{prefix!r} is no place of S3.", todo="Write s3://bucket/prefix.")
    return bucket, f"{folder}/" if folder else ""


@dataclass(frozen=True)
class _Storage:
    """One bucket, asked by botocore: PyArrow knows no versions."""

    client: Any
    bucket: str

    def pages(self, folder: str, since: datetime) -> Iterator[list[_Marker]]:
        """The markers that are the newest versions of files, and not older than a moment."""
        asked: dict[str, Any] = {"Bucket": self.bucket, "Prefix": folder, "MaxKeys": _AT_ONCE}
        while True:
            page = self._ask("list_object_versions", **asked)
            markers = [each for each in page.get("DeleteMarkers", []) if each["IsLatest"]]
            newer = [each for each in markers if each["LastModified"] >= since]
            if newer:
                yield [_Marker(each["Key"], each["VersionId"]) for each in newer]
            if not page.get("IsTruncated"):
                return
            asked["KeyMarker"], asked["VersionIdMarker"] = page["NextKeyMarker"], page["NextVersionIdMarker"]

    def remove(self, markers: Sequence[_Marker]) -> None:
        """Removes markers; raises RepairError where S3 keeps one."""
        objects = [{"Key": each.key, "VersionId": each.version} for each in markers]
        answer = self._ask("delete_objects", Bucket=self.bucket, Delete={"Objects": objects, "Quiet": True})
        if errors := answer.get("Errors", []):
            first = errors[0]
            raise RepairError(
                f"S3 does not bring {len(errors):,} files back.",
                where=f"s3://{self.bucket}/{first['Key']}: {first.get('Code')} {first.get('Message')}",
                meaning="Others are back. No version of a file was deleted.",
                todo="Allow s3:DeleteObjectVersion to this identity, and run the command again.",
            )

    @property
    def keeps_versions(self) -> bool:
        """Whether the bucket does, or did."""
        return "Status" in self._ask("get_bucket_versioning", Bucket=self.bucket)

    def _ask(self, name: str, **arguments: Any) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer: dict[str, Any] = getattr(self.client, name)(**arguments)
        except (BotoCoreError, ClientError) as e:
            raise _refused(e, f"s3://{self.bucket}") from e
        return answer


def _refused(error: Exception, where: str) -> Exception:
    code = getattr(error, "response", {}).get("Error", {}).get("Code", "")
    if code == "NoSuchBucket":
        return MissingError(f"There is no bucket {where}.", todo="Fix the address after --from.")
    return aws_refusal(error) or PartDownError(
        "S3 does not answer.",
        where=f"{where} ({type(error).__name__} {code})",
        meaning=STAYS,
        todo="Try again: files that are back stay.",
    )


def _nothing(prefix: str, since: datetime, *, versions: bool) -> ConfigureError:
    if not versions:
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


def _client(settings: Settings) -> Any:
    from botocore.config import Config

    limits = Config(
        connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries={"total_max_attempts": 5}
    )
    return aws_session(settings.aws).create_client(
        "s3",
        endpoint_url=settings.s3_endpoint,
        config=limits,
        verify=str(settings.s3.ca) if settings.s3.ca else None,
    )
