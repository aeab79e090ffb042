"""Files of S3, or of this machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from frazil_verify.findings import UnverifiableError
from frazil_verify.request import Storage

_SECONDS = 60


@dataclass(frozen=True)
class Files:
    """Reads what a table's metadata names, by its whole path."""

    storage: Storage

    def read(self, location: str) -> bytes:
        """All bytes of a small file."""
        with self.open(location) as file:
            return bytes(file.read())

    def open(self, location: str) -> pa.NativeFile:
        """A file to be read from any place.

        Raises:
            UnverifiableError: It can't be opened.
        """
        scheme, _, path = location.partition("://")
        try:
            if scheme in ("s3", "s3a", "s3n"):
                return self._s3.open_input_file(path)
            return fs.LocalFileSystem().open_input_file(unquote(urlsplit(location).path))
        except OSError as e:
            raise UnverifiableError(f"{location} can't be read: {e}") from e

    @cached_property
    def _s3(self) -> fs.S3FileSystem:
        storage, endpoint = self.storage, urlsplit(self.storage.endpoint)
        return fs.S3FileSystem(
            access_key=storage.access_key or None,
            secret_key=storage.secret_key.get_secret_value() or None,
            session_token=storage.session_token.get_secret_value() or None,
            region=storage.region or None,
            endpoint_override=endpoint.netloc or None,
            scheme=endpoint.scheme or "https",
            tls_ca_file_path=storage.ca or None,
            connect_timeout=_SECONDS,
            request_timeout=_SECONDS,
        )
