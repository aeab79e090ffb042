"""The versions of files that a bucket of S3 keeps, asked for by botocore: PyArrow and obstore know none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from frazil.errors import STAYS, MissingError, PartDownError, RepairError
from frazil.settings.identity import aws_session
from frazil.settings.profile import Settings
from frazil.settings.refusals import aws_refusal
from frazil.tables.catalogs.client_properties import CONNECT_SECONDS, READ_SECONDS
from frazil.tables.catalogs.file_io import S3_SCHEMES

_AT_ONCE = 1000
"""Versions that S3 lists, and markers that it takes, in one request."""

_UNKNOWN_CALL = ("NotImplemented", "MethodNotAllowed")
"""What a store answers that has no versions at all."""


@dataclass(frozen=True, slots=True)
class Place:
    """A bucket, and a folder of it that ends with a slash; empty: all of it."""

    bucket: str
    folder: str


@dataclass(frozen=True, slots=True)
class Marker:
    """What a deletion puts on top of a file's versions; without it the file is there again."""

    key: str
    version: str


def place_of(address: str) -> Place | None:
    """The bucket and folder of an address such as `s3://lake/shop`; None where it is no place of S3."""
    scheme, _, rest = address.rstrip("/").partition("://")
    bucket, _, folder = rest.partition("/")
    if scheme not in S3_SCHEMES or not bucket:
        return None
    return Place(bucket, f"{folder}/" if folder else "")


class Versions:
    """Those of one folder.

    Args:
        settings: Who asks, and where S3 is.
        place: The bucket and the folder.
        keys: PyIceberg's properties of a table, whose keys go before those of the settings.
    """

    def __init__(self, settings: Settings, place: Place, keys: Mapping[str, str] | None = None) -> None:
        self._client, self._place = _client(settings, keys or {}), place

    def deleted(self, since: datetime) -> Iterator[list[Marker]]:
        """The markers of files that are deleted now, and were at a moment or later; by pages."""
        for page in self._pages():
            markers = [each for each in page.get("DeleteMarkers", []) if each["IsLatest"]]
            newer = [each for each in markers if each["LastModified"] >= since]
            if newer:
                yield [Marker(each["Key"], each["VersionId"]) for each in newer]

    def older(self) -> int:
        """How many versions there are of files that were deleted or written over."""
        pages = (page.get("Versions", []) for page in self._pages())
        return sum(not version["IsLatest"] for page in pages for version in page)

    def remove(self, markers: Sequence[Marker]) -> None:
        """Removes markers.

        Raises:
            RepairError: S3 keeps some.
        """
        objects = [{"Key": each.key, "VersionId": each.version} for each in markers]
        bucket = self._place.bucket
        answer = self._ask("delete_objects", Bucket=bucket, Delete={"Objects": objects, "Quiet": True})
        if errors := answer.get("Errors", []):
            first = errors[0]
            raise RepairError(
                f"S3 does not bring {len(errors):,} files back.",
                where=f"s3://{bucket}/{first['Key']}: {first.get('Code')} {first.get('Message')}",
                meaning="Others are back. No version of a file was deleted.",
                todo="Allow s3:DeleteObjectVersion to this identity, and run the command again.",
            )

    @property
    def are_kept(self) -> bool:
        """Whether the bucket keeps versions, or did."""
        return "Status" in self._ask("get_bucket_versioning", Bucket=self._place.bucket)

    def _pages(self) -> Iterator[dict[str, Any]]:
        asked: dict[str, Any] = {
            "Bucket": self._place.bucket, "Prefix": self._place.folder, "MaxKeys": _AT_ONCE,
        }  # fmt: skip
        while True:
            page = self._ask("list_object_versions", **asked)
            yield page
            if not page.get("IsTruncated"):
                return
            asked["KeyMarker"], asked["VersionIdMarker"] = page["NextKeyMarker"], page["NextVersionIdMarker"]

    def _ask(self, name: str, **arguments: Any) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer: dict[str, Any] = getattr(self._client, name)(**arguments)
        except (BotoCoreError, ClientError) as e:
            if _code(e) in _UNKNOWN_CALL:
                return {}
            raise _refused(e, f"s3://{self._place.bucket}") from e
        return answer


def _code(error: Exception) -> str:
    return str(getattr(error, "response", {}).get("Error", {}).get("Code", ""))


def _refused(error: Exception, where: str) -> Exception:
    if _code(error) == "NoSuchBucket":
        return MissingError(f"There is no bucket {where}.", todo="Fix the address.")
    return aws_refusal(error) or PartDownError(
        "S3 does not answer.",
        where=f"{where} ({type(error).__name__} {_code(error)})",
        meaning=STAYS,
        todo="Try again.",
    )


def _client(settings: Settings, keys: Mapping[str, str]) -> Any:
    from botocore.config import Config

    limits = Config(
        connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries={"total_max_attempts": 5}
    )
    return aws_session(settings.aws).create_client(
        "s3",
        endpoint_url=keys.get("s3.endpoint") or settings.s3_endpoint,
        aws_access_key_id=keys.get("s3.access-key-id"),
        aws_secret_access_key=keys.get("s3.secret-access-key"),
        aws_session_token=keys.get("s3.session-token"),
        config=limits,
        verify=str(settings.s3.ca) if settings.s3.ca else None,
    )
