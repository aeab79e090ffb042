"""The house as docs/architecture.md has it: few modules side by side, and a table is one thing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = [ROOT / "platform", ROOT / "assets", ROOT / "resources", ROOT / "sensors"]
SIDE_BY_SIDE = 12


def folders() -> list[Path]:
    return sorted({file.parent for room in (*ROOMS, ROOT / "tests" / "kit") for file in room.rglob("*.py")})


@pytest.mark.parametrize("folder", folders(), ids=lambda each: str(each.relative_to(ROOT)))
def test_a_folder_has_a_dozen_modules_at_most(folder: Path) -> None:
    modules = [file.name for file in folder.glob("*.py") if file.name != "__init__.py"]

    assert len(modules) <= SIDE_BY_SIDE, sorted(modules)


SEVERAL = {
    "platform/frazil/derive/positions/inputs.py:note_reader": "the name is that of another table",
    "platform/frazil/derive/positions/state.py:_input": "an input may not be there",
    "platform/frazil/derive/positions/state.py:_sizes": "the table may not be there",
    "platform/frazil/derive/positions/state.py:_state": "tables by their names, which may not be there",
    "platform/frazil/landing/tableflow/takeover.py:_entry": "the table is Tableflow's, the name is Frazil's",
    "platform/frazil/landing/tableflow/takeover.py:_may_begin": "both tables, which may not be there",
    "platform/frazil/tables/catalogs/handle.py:TableHandle": "the handle itself",
    "platform/frazil/tables/catalogs/pointers.py:_loader": "many names of one catalog",
    "platform/frazil/tables/catalogs/pointers.py:load_pointers": "many names of one catalog",
}
"""What takes a name beside a catalog or a table, and why it is not the name of that table."""


def test_a_table_is_handed_on_in_one_piece() -> None:
    """As its handle before it is loaded, and as a `Table`, which knows its name, from then on."""
    found = {place for room in ROOMS for file in room.rglob("*.py") for place in _in_pieces(file)}

    assert found == SEVERAL.keys()


def _in_pieces(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            words = {word for each in _annotations(node) for word in _names_in(each)}
            if "TableName" in words and words & {"Catalog", "Table"}:
                yield f"{file.relative_to(ROOT)}:{node.name}"


def _annotations(node: ast.FunctionDef | ast.ClassDef) -> Iterator[ast.expr]:
    if isinstance(node, ast.ClassDef):
        yield from (each.annotation for each in node.body if isinstance(each, ast.AnnAssign))
        return
    for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        if each.annotation:
            yield each.annotation


def _names_in(annotation: ast.expr) -> Iterator[str]:
    return (each.id for each in ast.walk(annotation) if isinstance(each, ast.Name))
