"""Files of S3 that are deleted by one request for a thousand of them: `DeleteObjects`.

PyArrow asks for each file whether it is there, deletes it, and then puts a marker of its folder.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import islice

from frazil.tables.catalogs.file_io import S3_SCHEMES
from frazil.tables.catalogs.object_store.access import S3Access
from frazil.tables.catalogs.requests import REQUESTED, Requests

AT_ONCE = 1000
"""Files that S3 takes in one request."""


def delete_together(properties: Mapping[str, str], locations: Iterable[str]) -> list[str]:
    """Deletes files, a thousand by one request; one that is gone already is as good as deleted.

    Args:
        properties: By which their table's files are opened.
        locations: Of files anywhere.

    Returns:
        Those that may still be there, and are to be deleted one by one: they are not in S3, object_store
        can't name them, or S3 did not take the request for all of its files.
    """
    access, left = S3Access.by(properties), list[str]()
    by_bucket: defaultdict[str, list[str]] = defaultdict(list)
    for location in locations:
        bucket, key = _place(location)
        (by_bucket[bucket] if access.keys and _is_named_so(key) else left).append(location)
    for bucket, own in by_bucket.items():
        rest = iter(own)
        while batch := list(islice(rest, AT_ONCE)):
            left += [] if _is_deleted(access, bucket, batch) else batch
    return left


def _place(location: str) -> tuple[str, str]:
    """Its bucket and key; no key where it is not in S3."""
    scheme, _, rest = location.partition("://")
    bucket, _, key = rest.partition("/")
    return bucket, key if scheme in S3_SCHEMES else ""


def _is_named_so(key: str) -> bool:
    """Whether object_store asks for this very key: it takes slashes off both ends, and refuses others."""
    return key.isprintable() and not {"", ".", ".."} & {*key.split("/")}


def _is_deleted(access: S3Access, bucket: str, batch: list[str]) -> bool:
    from obstore import delete
    from obstore.exceptions import BaseError

    REQUESTED.of_file(batch[0], Requests(puts=1))
    try:
        delete(access.store(bucket), [_place(location)[1] for location in batch])
    except (BaseError, OSError):  # each file by itself says what S3 has against it
        return False
    return True
