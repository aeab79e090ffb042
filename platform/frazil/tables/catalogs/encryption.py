"""Files that S3 encrypts with a key that the writer names: SSE-KMS.

PyArrow's client of S3 sends no such headers: files are written by object_store's, and read by PyArrow's.
Properties are those of Iceberg's `S3FileIOProperties`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileSystemHandler, PyFileSystem

from frazil.tables.catalogs.file_io import S3_CA, SERVER_SIDE

if TYPE_CHECKING:
    from obstore import WritableFile
    from obstore.store import ClientConfig, S3Config, S3Credential, S3Store

_NAMES = {
    "endpoint": "s3.endpoint",
    "region": "s3.region",
    "sse_kms_key_id": "s3.sse.key",
}
"""Properties as object_store calls them."""

_RETRIES, _PATIENCE = 3, timedelta(minutes=2)

_CODE = re.compile(r"<Code>(\w+)</Code>")
_STATUS = re.compile(r"status code: (\d{3})")


@dataclass(frozen=True)
class _Keys:
    """The keys to write by; told by settings, object_store would add the environment's token to them."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(repr=False)

    def __call__(self) -> S3Credential:
        credential: S3Credential = {
            "access_key_id": self.access_key, "secret_access_key": self.secret_key, "expires_at": None,
        }  # fmt: skip
        return {**credential, "token": self.token} if self.token else credential


def encrypting(files: FileSystem, properties: Mapping[str, str]) -> FileSystem:
    """The same file system, which writes by the key that the properties name."""
    return PyFileSystem(_Encrypting(files, _config(properties), _limits(properties), _keys(properties)))


def _keys(properties: Mapping[str, str]) -> _Keys | None:
    """None: those that object_store finds by itself, as PyArrow does."""
    key, secret = (properties.get(f"s3.{word}") for word in ("access-key-id", "secret-access-key"))
    return _Keys(key, secret, properties.get("s3.session-token")) if key and secret else None


def _config(properties: Mapping[str, str]) -> S3Config:
    named = {own: properties[name] for own, name in _NAMES.items() if properties.get(name)}
    virtual = properties.get("s3.force-virtual-addressing", "").lower() == "true"
    kind = SERVER_SIDE[properties["s3.sse.type"]]
    options = {**named, "server_side_encryption": kind, "virtual_hosted_style_request": virtual}
    return cast("S3Config", options)


def _limits(properties: Mapping[str, str]) -> ClientConfig:
    plain = properties.get("s3.endpoint", "").startswith("http://")
    connect, request = (properties.get(f"s3.{word}-timeout", "60") for word in ("connect", "request"))
    limits = {"allow_http": plain, "connect_timeout": f"{connect}s", "timeout": f"{request}s"}
    authority = {"root_certificate": properties[S3_CA]} if S3_CA in properties else {}
    return cast("ClientConfig", {**limits, **authority})


class _Encrypting(FileSystemHandler):  # type: ignore[misc]
    """PyArrow's own, but for files that are written."""

    def __init__(self, files: FileSystem, config: S3Config, limits: ClientConfig, keys: _Keys | None) -> None:
        self._files, self._config, self._limits, self._keys = files, config, limits, keys

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Encrypting) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(type(self))

    def get_type_name(self) -> str:
        return f"encrypted {self._files.type_name}"

    def open_output_stream(self, path: str, metadata: Mapping[str, str] | None) -> pa.PythonFile:
        """A file that is there once it is closed."""
        from obstore import open_writer

        bucket, _, key = path.partition("/")
        with _as_arrow_says(bucket, key):
            writer = open_writer(self._store(bucket), key)
        return pa.PythonFile(_Written(writer, bucket, key), mode="w")

    def _store(self, bucket: str) -> S3Store:
        from obstore.store import S3Store

        return S3Store(
            bucket,
            config=self._config,
            client_options=self._limits,
            credential_provider=self._keys,
            retry_config={"max_retries": _RETRIES, "retry_timeout": _PATIENCE},
        )

    def open_append_stream(self, path: str, metadata: Mapping[str, str] | None) -> pa.NativeFile:
        raise NotImplementedError("S3 appends to no file")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        return self._files.open_input_stream(path)

    def open_input_file(self, path: str) -> pa.NativeFile:
        return self._files.open_input_file(path)

    def get_file_info(self, paths: Sequence[str]) -> list[FileInfo]:
        infos: list[FileInfo] = self._files.get_file_info(paths)
        return infos

    def get_file_info_selector(self, selector: FileSelector) -> list[FileInfo]:
        infos: list[FileInfo] = self._files.get_file_info(selector)
        return infos

    def create_dir(self, path: str, recursive: bool) -> None:
        self._files.create_dir(path, recursive=recursive)

    def delete_dir(self, path: str) -> None:
        self._files.delete_dir(path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        self._files.delete_dir_contents(path, missing_dir_ok=missing_dir_ok)

    def delete_root_dir_contents(self) -> None:
        self._files.delete_dir_contents("/", accept_root_dir=True)

    def delete_file(self, path: str) -> None:
        self._files.delete_file(path)

    def move(self, src: str, dest: str) -> None:
        raise NotImplementedError("a moved file would not be encrypted by the key")

    def copy_file(self, src: str, dest: str) -> None:
        raise NotImplementedError("a copied file would not be encrypted by the key")

    def normalize_path(self, path: str) -> str:
        normal: str = self._files.normalize_path(path)
        return normal


class _Written:
    """A file that is written, as PyArrow asks for it."""

    def __init__(self, writer: WritableFile, bucket: str, key: str) -> None:
        self._writer, self._of = writer, (bucket, key)
        self.closed = False

    def write(self, data: Any) -> int:
        with _as_arrow_says(*self._of):
            return self._writer.write(memoryview(data).cast("B"))

    def flush(self) -> None:
        """Nothing is there before the end."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            with _as_arrow_says(*self._of):
                self._writer.close()


@contextmanager
def _as_arrow_says(bucket: str, key: str) -> Iterator[None]:
    """Turns errors of object_store into PyArrow's, whose words tell an outage from a refusal."""
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, OSError) as e:
        raise OSError(f"When writing key '{key}' in bucket '{bucket}': {_in_words_of_arrow(str(e))}") from e


def _in_words_of_arrow(text: str) -> str:
    code, status = _CODE.search(text), _STATUS.search(text)
    name = f"UNKNOWN (HTTP status {status[1]})" if status else "NETWORK_CONNECTION"
    if status and status[1] == "403" and (code is None or code[1] == "AccessDenied"):
        name = "ACCESS_DENIED"
    named = f"Unable to parse ExceptionName: {code[1]} " if code else ""
    return f"AWS Error {name} during PutObject operation: {named}Message: {text:.1000}"
