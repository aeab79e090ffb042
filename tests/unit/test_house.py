"""The house as docs/architecture.md has it: few modules side by side, a table is one thing, nothing hides."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
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


def test_a_module_has_one_idea_and_350_lines_at_most() -> None:
    """300 are the aim."""
    lines = {file: len(file.read_text().splitlines()) for room in ROOMS for file in room.rglob("*.py")}

    assert {str(file.relative_to(ROOT)): count for file, count in lines.items() if count > 350} == {}


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
    places = {place for room in ROOMS for file in room.rglob("*.py") for place in _in_pieces(file)}

    assert places == SEVERAL.keys()


def _in_pieces(file: Path) -> Iterator[str]:
    text = file.read_text()
    for node in ast.walk(ast.parse(text if "TableName" in text else "")):
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


DEAR = {
    "confluent_kafka", "confluent_kafka.schema_registry", "duckdb", "numpy", "opentelemetry",
    "prometheus_client", "pyarrow", "pydantic", "pyiceberg", "pyspark", "snowflake", "sqlglot",
}  # fmt: skip
"""Libraries that a command or a task has to wait for, and does not import before it uses them."""

UNAWAITED = {"frazil.cli.work.land -> frazil.derive.report": "a landing need not wait for what derives"}
"""Imports of our own modules for types alone that bring no library, and why."""


def test_a_module_of_ours_is_imported_for_its_types_alone_only_where_it_brings_a_dear_library() -> None:
    """Else the import hides a cycle, or nothing."""
    hidden = {
        f"{name} -> {other}"
        for name in files()
        for other in _imports(name).for_types & files().keys()
        if not _dear(other) - _dear(name)
    }

    assert hidden == UNAWAITED.keys()


@dataclass(frozen=True, slots=True)
class Imports:
    """What a module imports at its top: to use it, or for types alone."""

    used: frozenset[str]
    for_types: frozenset[str]


@cache
def files() -> dict[str, Path]:
    """All modules, by name."""
    by_module: dict[str, Path] = {}
    for room in ROOMS:
        base = room if room.name == "platform" else room.parent
        for file in room.rglob("*.py"):
            parts = file.relative_to(base).with_suffix("").parts
            by_module[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return by_module


@cache
def _dear(name: str) -> frozenset[str]:
    """The libraries that importing a module brings, by whatever it imports."""
    met, waiting = set[str](), [name]
    while waiting:
        if (each := waiting.pop()) not in met:
            met.add(each)
            waiting += _imports(each).used if each in files() else ()
    foreign = {f"{each}." for each in met - files().keys()}
    return frozenset(library for library in DEAR if any(each.startswith(f"{library}.") for each in foreign))


@cache
def _imports(name: str) -> Imports:
    top = ast.parse(files()[name].read_text()).body
    typed = [node for each in top if isinstance(each, ast.If) and _is_for_types(each) for node in each.body]
    return Imports(_names(top), _names(typed))


def _is_for_types(node: ast.If) -> bool:
    return ast.unparse(node.test) == "TYPE_CHECKING"


def _names(nodes: list[ast.stmt]) -> frozenset[str]:
    """What imports name: modules, and what may be modules in them."""
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)


def test_a_busy_machine_makes_no_property_red() -> None:
    """Hypothesis' own settings end an example after 200 ms: `examples` has others."""
    files = [file for file in (ROOT / "tests").rglob("test_*.py") if "@given" in file.read_text()]
    own = {f"{file.name}:{node.name}" for file in files for node in _properties(file)}

    assert own == set()
    assert len(files) > 10


def _properties(file: Path) -> Iterator[ast.FunctionDef]:
    """The drawn tests of a file that have Hypothesis' own settings."""
    tree = ast.parse(file.read_text())
    ours = {"examples"} | {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and {"examples", "settings"} & {*_names_in(node.value)}
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = {name for each in node.decorator_list for name in _names_in(each)}
            if "given" in names and not names & ours:
                yield node
