"""Whoever looks at a table again and again finds every file that went since, though it was read before."""

from __future__ import annotations

import pytest
from pyiceberg.manifest import ManifestFile

from kit.readers.sound import Looks
from kit.tables.commits import Lake


@pytest.mark.parametrize("what", ["manifest list", "manifest", "data file"])
def test_a_file_that_went_since_the_last_look_is_told(lake: Lake, what: str) -> None:
    looks, table = Looks(), lake.table
    head = table.current_snapshot()
    assert head
    manifest: ManifestFile = head.manifests(table.io)[0]
    data = manifest.fetch_manifest_entry(table.io)[0].data_file.file_path
    paths = {"manifest list": head.manifest_list, "manifest": manifest.manifest_path, "data file": data}
    assert looks.unreadable(table) == []

    table.io.delete(paths[what])

    assert [line for line in looks.unreadable(table) if f"{what} {paths[what]}" in line]
