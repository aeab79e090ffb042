"""The files of tables: as PyIceberg reads and writes them, and PyArrow is loaded with the first of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pyiceberg.io import load_file_io

from frazil.settings.profile import Settings
from frazil.tables.catalogs.client_properties import pyiceberg_properties

PROPERTIES = pyiceberg_properties(Settings())


def test_files_are_written_read_and_deleted(tmp_path: Path) -> None:
    files, place = load_file_io(PROPERTIES), (tmp_path / "a.avro").as_uri()

    with files.new_output(place).create() as stream:
        stream.write(b"frozen")
    with files.new_input(place).open() as stream:
        text = stream.read()
    files.delete(place)

    assert text == b"frozen"
    assert not files.new_input(place).exists()


def test_who_only_looks_at_metadata_waits_for_no_pyarrow() -> None:
    code = """
import sys
from frazil.settings.profile import Settings
from frazil.tables.catalogs.client_properties import pyiceberg_properties
from pyiceberg.io import load_file_io

load_file_io(pyiceberg_properties(Settings()), "s3://lake/t")
print("pyarrow" in sys.modules)
"""

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )

    assert done.stdout.strip() == "False"
