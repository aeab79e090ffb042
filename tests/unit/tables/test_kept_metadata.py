"""What a process keeps of manifests: as much as may be kept, and nothing that the store does not have."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.io import OutputStream

from frazil.tables.catalogs.file_io import LateFileIO
from frazil.tables.catalogs.kept_metadata import LARGEST, kept_files


def manifest(folder: Path, name: str = "a-m0.avro") -> str:
    (folder / "metadata").mkdir(exist_ok=True)
    return f"file://{folder}/metadata/{name}"


def write(location: str, content: bytes) -> None:
    with LateFileIO().new_output(location).create() as stream:
        stream.write(content[:1])
        stream.write(content[1:])


def read(location: str) -> bytes:
    with LateFileIO().new_input(location).open() as stream:
        return stream.read()


def place(location: str) -> Path:
    return Path(location.removeprefix("file://"))


def test_a_manifest_that_was_written_is_in_the_store_and_is_not_asked_for(tmp_path: Path) -> None:
    location = manifest(tmp_path)
    write(location, b"content")
    assert place(location).read_bytes() == b"content"
    place(location).unlink()
    assert read(location) == b"content"
    assert len(LateFileIO().new_output(location)) == 7


def test_a_manifest_is_read_once(tmp_path: Path) -> None:
    location = manifest(tmp_path)
    place(location).write_bytes(b"content")
    assert read(location) == b"content"
    place(location).unlink()
    assert read(location) == b"content"
    assert len(LateFileIO().new_input(location)) == 7


def test_whether_a_manifest_is_there_is_asked_of_the_store(tmp_path: Path) -> None:
    location = manifest(tmp_path)
    write(location, b"content")
    assert LateFileIO().new_input(location).exists()
    place(location).unlink()
    assert not LateFileIO().new_input(location).exists()


def test_a_manifest_that_is_removed_is_not_kept(tmp_path: Path) -> None:
    location = manifest(tmp_path)
    write(location, b"content")
    LateFileIO().delete(location)
    with pytest.raises(FileNotFoundError):
        read(location)


def test_what_was_written_in_part_is_not_kept(tmp_path: Path) -> None:
    location = manifest(tmp_path)

    def fail(stream: OutputStream) -> None:
        with stream:
            stream.write(b"part")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail(LateFileIO().new_output(location).create())
    place(location).write_bytes(b"whole")
    assert read(location) == b"whole"


@pytest.mark.parametrize("name", ["00001-a.metadata.json", "a.parquet"])
def test_other_files_are_always_read(tmp_path: Path, name: str) -> None:
    location = manifest(tmp_path, name)
    write(location, b"first")
    place(location).write_bytes(b"second")
    assert read(location) == b"second"


def test_a_long_manifest_is_written_whole_and_not_kept(tmp_path: Path) -> None:
    location = manifest(tmp_path)
    write(location, bytes(LARGEST + 1))
    assert len(place(location).read_bytes()) == LARGEST + 1
    place(location).write_bytes(b"another")
    assert read(location) == b"another"


def test_the_latest_used_stay_when_there_are_too_many() -> None:
    kept = kept_files(most=25)
    for name in "abc":
        kept.keep(name, name.encode() * 10)
        kept.get("a")
    assert [kept.get(name) is not None for name in "abc"] == [True, False, True]
