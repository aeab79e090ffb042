"""Private names of PyIceberg stand in a few rooms, and are there: an upgrade that moves one breaks here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyiceberg import manifest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog import glue as glue_module
from pyiceberg.catalog.rest import RestCatalog, response
from pyiceberg.expressions import visitors
from pyiceberg.table import Transaction, update
from pyiceberg.table.update import snapshot

import frazil

ENGINE = Path(frazil.__file__).parent
ROOMS = {
    ENGINE / "tables" / name
    for name in (
        "commits/commit.py", "commits/staging.py", "commits/append.py", "commits/rewrite.py",
        "catalogs/pyiceberg.py", "catalogs/glue.py", "catalogs/rest.py", "format_v3/producer.py",
        "format_v3/writing.py",
    )
}  # fmt: skip

OF_TRANSACTIONS = ("_apply", "_requirements", "_updates", "_table")
NAMES: list[tuple[Any, str]] = [
    *((Transaction, name) for name in OF_TRANSACTIONS),
    (RestCatalog, "_create_session"),
    (RestCatalog, "_load_file_io"),
    (Catalog, "_load_file_io"),
    (glue_module.GlueCatalog, "_load_file_io"),
    (RestCatalog, "_split_identifier_for_path"),
    (RestCatalog, "_response_to_table"),
    (response, "_handle_non_200_response"),
    (glue_module.GlueCatalog, "_convert_glue_to_iceberg"),
    (glue_module, "_IcebergSchemaToGlueType"),
    (glue_module, "_construct_table_input"),
    (manifest, "_inherit_from_manifest"),
    (manifest.ManifestWriter, "_meta"),
    (manifest.ManifestWriter, "_with_partition"),
    (update, "_apply_table_update"),
    (update, "_TableMetadataUpdateContext"),
    (snapshot, "_SnapshotProducer"),
    (snapshot._SnapshotProducer, "_deleted_entries"),
    (snapshot._SnapshotProducer, "_existing_manifests"),
    (snapshot._SnapshotProducer, "_summary"),
    (snapshot._SnapshotProducer, "_commit"),
    (snapshot._SnapshotProducer, "_validate_concurrency"),
    (glue_module.GlueCatalog, "_write_metadata"),
    (glue_module.GlueCatalog, "_write_metadata_no_exist_check"),
    (glue_module.GlueCatalog, "_create_staged_table"),
    (glue_module.GlueCatalog, "_update_and_stage_table"),
    (visitors, "_InclusiveMetricsEvaluator"),
    (visitors, "_StrictMetricsEvaluator"),
]


@pytest.mark.parametrize(("owner", "name"), NAMES, ids=[f"{o.__name__}.{n}" for o, n in NAMES])
def test_a_private_name_that_the_engine_uses_is_there(owner: Any, name: str) -> None:
    assert hasattr(owner, name) or name in getattr(owner, "__annotations__", {})


@pytest.mark.parametrize("name", sorted({name for _, name in NAMES}))
def test_a_private_name_stands_in_one_of_these_rooms_only(name: str) -> None:
    assert {path for path in ENGINE.parent.rglob("*.py") if name in private_names(path)} <= ROOMS


def test_nothing_private_is_imported_from_pyiceberg_elsewhere() -> None:
    importing = {path for path in ENGINE.parent.rglob("*.py") if list(private_imports(path))}

    assert importing <= ROOMS
    assert {name for path in importing for name in private_imports(path)} <= {name for _, name in NAMES}


WORDS = re.compile(rf"from pyiceberg|\b({'|'.join(name for _, name in NAMES)})\b")
"""A module without any of these has no private name of PyIceberg."""


@cache
def nodes(path: Path) -> list[ast.AST]:
    """All that a module consists of, if it may have one."""
    text = path.read_text()
    return list(ast.walk(ast.parse(text if WORDS.search(text) else "")))


def private_imports(path: Path) -> Iterator[str]:
    """Private names that a module imports from PyIceberg."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyiceberg"):
            yield from (alias.name for alias in node.names if alias.name.startswith("_"))


@cache
def private_names(path: Path) -> frozenset[str]:
    """Those, and private attributes of anything but the module's own objects."""
    attributes = [node for node in nodes(path) if isinstance(node, ast.Attribute)]
    foreign = (
        n.attr for n in attributes if not (isinstance(n.value, ast.Name) and n.value.id in ("self", "cls"))
    )
    return frozenset({*private_imports(path), *(name for name in foreign if name.startswith("_"))})
