"""A foreign object is compared with None, never by its truth: that is its length, or its value.

confluent-kafka's Message has the length of its value, so one without a value is false; so are an empty Arrow
table, a Decimal of zero, a scalar that is false. `is not None` says what is meant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import frazil

ROOT = Path(frazil.__file__).parents[2]
SHIPPED = ("platform", "assets", "resources", "sensors")

FOREIGN = {
    "confluent_kafka.Message", "decimal.Decimal", "numpy.ndarray", "numpy.typing.NDArray",
    "pyspark.sql.DataFrame", "pyspark.sql.Column", "pandas.DataFrame", "pandas.Series",
    *(f"pyarrow.{name}" for name in (
        "Scalar", "Array", "ChunkedArray", "Table", "RecordBatch", "StructArray", "ListArray", "MapArray",
        "BooleanArray", "BinaryArray", "Int32Array", "Schema", "StructType", "Buffer",
    )),
}  # fmt: skip
"""Types whose truth says something else than that they are there."""

GIVING = {"poll", "to_table", "to_arrow", "toArrow", "read_table", "to_batches"}
"""Methods that give a foreign object, or None, whatever they are methods of; a process has its own `poll`."""

MAKING = {
    "pyarrow": {"scalar", "array", "table", "nulls", "repeat"},
    "numpy": {"array", "asarray", "zeros", "ones", "full", "arange", "flatnonzero", "where", "unique"},
}
"""Functions that make one; all of `pyarrow.compute` do."""

WORDS = (".poll(", ".consume(", *sorted({name.partition(".")[0] for name in FOREIGN}))
"""A module without any of these has none."""


def sources(folders: Iterable[str]) -> list[Path]:
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(paths) > 500
    return [path for path in paths if any(word in path.read_text() for word in WORDS)]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


class Names:
    """What a module's names mean, and which of its functions and fields hold foreign objects."""

    def __init__(self, tree: ast.Module) -> None:
        self.imported: dict[str, str] = {}
        self.nodes = nodes = list(ast.walk(tree))
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                self.imported |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
            elif isinstance(node, ast.Import):
                self.imported |= {a.asname or a.name: a.name for a in node.names}
        self.fields = {
            n.target.id
            for c in nodes
            if isinstance(c, ast.ClassDef)
            for n in c.body
            if isinstance(n, ast.AnnAssign)
            and isinstance(n.target, ast.Name)
            and self.is_foreign(n.annotation)
        }
        functions = [n for n in nodes if isinstance(n, ast.FunctionDef) and n.returns]
        self.functions = {n.name for n in functions if self.is_foreign(n.returns)}
        self.holding = {n.name for n in functions if self.holds_foreign(n.returns)}

    def is_foreign(self, annotation: ast.expr) -> bool:
        """Whether it is a foreign type, or that or None; not where it is a part of another type."""
        match annotation:
            case ast.BinOp(left=left, right=right):
                return self.is_foreign(left) or self.is_foreign(right)
            case ast.Subscript(value=value):
                return self.is_foreign(value)
            case ast.Name(id=name):
                return self.imported.get(name, "") in FOREIGN
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                return f"{self.imported.get(module, '')}.{name}" in FOREIGN
        return False

    def holds_foreign(self, annotation: ast.expr | None) -> bool:
        """Whether it is a list, a dict or the like of foreign objects."""
        match annotation:
            case ast.BinOp(left=left, right=right):
                return self.holds_foreign(left) or self.holds_foreign(right)
            case ast.Subscript(slice=ast.Tuple(elts=[*_, last])):
                return self.is_foreign(last)
            case ast.Subscript(slice=inner):
                return self.is_foreign(inner)
        return False

    def is_made(self, module: str, name: str) -> bool:
        """Whether a function of a module makes a foreign object."""
        whole = self.imported.get(module, "")
        return whole == "pyarrow.compute" or name in MAKING.get(whole, ()) or f"{whole}.{name}" in FOREIGN

    def gives_many(self, value: ast.expr) -> bool:
        """Whether an expression is a list, a dict or the like of foreign objects."""
        match value:
            case ast.Call(func=ast.Attribute(attr="consume")):
                return True
            case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
                return name in self.holding
        return False

    def gives_foreign(self, value: ast.expr) -> bool:
        """Whether an expression is a foreign object, or None."""
        match value:
            case ast.NamedExpr(value=inner) | ast.Await(value=inner):
                return self.gives_foreign(inner)
            case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in GIVING:
                return not ast.unparse(of).endswith("process")
            case (
                ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name))
                | ast.Call(func=ast.Name(id=name))
            ):
                return name in self.functions or self.imported.get(name, "") in FOREIGN
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name)):
                return self.is_made(module, name)
            case ast.Attribute(attr=name):
                return name in self.fields
        return False


def asked_truths(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """All expressions of which some nodes ask the truth."""
    for node in nodes:
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
                yield test
            case ast.BoolOp(values=values):
                yield from values[:-1]
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield operand
            case ast.comprehension(ifs=ifs):
                yield from ifs
            case ast.Call(func=ast.Name(id="bool"), args=[value]):
                yield value


def parts(test: ast.expr) -> Iterator[ast.expr]:
    """An expression, or those that it joins by and, or and not."""
    match test:
        case ast.BoolOp(values=values):
            for value in values:
                yield from parts(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from parts(operand)
        case _:
            yield test


class Locals:
    """The names within a function that are foreign objects, and those that hold some."""

    def __init__(self, names: Names, arguments: ast.arguments, nodes: Iterable[ast.AST]) -> None:
        self._names = names
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        annotated = [a for a in every if a.annotation]
        self.foreign = {a.arg for a in annotated if a.annotation and names.is_foreign(a.annotation)}
        self.many = {a.arg for a in annotated if names.holds_foreign(a.annotation)}
        for node in nodes:
            self._learn(node)

    def _learn(self, node: ast.AST) -> None:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ):
                self._bind(name, self.is_foreign(value), self.holds_foreign(value))
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                self._bind(name, self._names.is_foreign(annotation), self._names.holds_foreign(annotation))
            case (
                ast.For(target=ast.Name(id=name), iter=source)
                | ast.comprehension(target=ast.Name(id=name), iter=source)
            ):
                self._bind(name, self.holds_foreign(source), False)

    def _bind(self, name: str, foreign: bool, many: bool) -> None:
        self.foreign |= {name} if foreign else set()
        self.many |= {name} if many else set()

    def holds_foreign(self, value: ast.expr) -> bool:
        match value:
            case ast.Name(id=name):
                return name in self.many
            case ast.Call(func=ast.Attribute(value=of, attr="values")):
                return self.holds_foreign(of)
        return self._names.gives_many(value)

    def is_foreign(self, value: ast.expr) -> bool:
        match value:
            case ast.Name(id=name):
                return name in self.foreign
            case ast.NamedExpr(value=inner):
                return self.is_foreign(inner)
            case ast.Subscript(value=of) | ast.Call(func=ast.Attribute(value=of, attr="get" | "pop")):
                return self.holds_foreign(of) or (isinstance(value, ast.Subscript) and self.is_foreign(of))
        return self._names.gives_foreign(value)


TELLING = (
    *(ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.comprehension),
    *(ast.If, ast.While, ast.IfExp, ast.Assert, ast.BoolOp, ast.UnaryOp, ast.Call),
)
"""Nodes that bind a name, or ask a truth."""


def faults(tree: ast.Module) -> Iterator[int]:
    """Lines on which the truth of a foreign object is asked."""
    names = Names(tree)
    for function in names.nodes:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            nodes = [node for node in ast.walk(function) if isinstance(node, TELLING)]
            known = Locals(names, function.args, nodes)
            asked = (part for test in asked_truths(nodes) for part in parts(test))
            yield from (part.lineno for part in asked if known.is_foreign(part))


@pytest.mark.parametrize(
    "folders", [SHIPPED, pytest.param(("tests",), marks=pytest.mark.nightly)], ids=["code", "tests"]
)
def test_no_truth_of_a_foreign_object_is_asked(folders: tuple[str, ...]) -> None:
    read = sources(folders)

    places = {f"{path.relative_to(ROOT)}:{line}" for path in read for line in faults(tree_of(path))}

    assert places == set()


@pytest.mark.parametrize(
    "text",
    [
        "if found := self.reader.poll(10.0):\n        return found",
        "message = consumer.poll(1)\n    return message.value() if message else None",
        "def inner(m: Message | None) -> bool:\n        return not m",
        "x: pa.Table | None = None\n    return x or 1",
        "while (n := Decimal('0')) and True:\n        pass",
        "s = pa.scalar(False)\n    assert s",
        "return [1 for m in () if bool(frame())]",
        "return seat.rows and 1",
        "return 1 if pc.any(x) else 2",
        "m = looked().get(0)\n    return m or 1",
        "found = looked()\n    return 1 if found.get(0) else 2",
        "found = looked()\n    m = found[0]\n    assert m",
        "for m in consumer.consume(5):\n        if m:\n            return m",
        "messages: list[Message] = []\n    return [m for m in messages if m]",
        "return [m for m in looked().values() if m]",
        "return consumer.poll() or 1",
        "x = np.array([0])\n    return not x",
        "table: pa.Table = seat.rows\n    return 1 if table['n'][0] else 2",
        "return scan.to_table() or None",
    ],
)
def test_the_guard_sees_the_kind(text: str) -> None:
    module = (
        "import numpy as np\nimport pyarrow as pa\nimport pyarrow.compute as pc\n"
        "from confluent_kafka import Message\nfrom decimal import Decimal\n"
        "from pyspark.sql import DataFrame\nclass Seat:\n    rows: pa.Table | None = None\n"
        "def looked() -> dict[int, Message]: ...\n"
        f"def frame() -> DataFrame: ...\ndef f(self, seat):\n    {text}\n"
    )

    assert list(faults(ast.parse(module)))


def test_the_guard_lets_comparisons_with_none_pass() -> None:
    text = "if (found := reader.poll(1)) is not None and found.value():\n        process.poll()"

    assert not list(faults(ast.parse(f"def f(reader, process):\n    {text}\n")))
