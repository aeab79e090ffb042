"""A foreign object is compared with None, never by its truth: that is its length, or its value.

confluent-kafka's Message has the length of its value, so one without a value is false; so are an empty Arrow
table, a Decimal of zero, a scalar that is false. `is not None` says what is meant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import frazil

ROOT = Path(frazil.__file__).parents[2]
FOLDERS = ("platform", "assets", "resources", "sensors", "tests")

FOREIGN = {
    "confluent_kafka.Message", "decimal.Decimal", "numpy.ndarray", "numpy.typing.NDArray",
    "pyspark.sql.DataFrame", "pyspark.sql.Column", "pandas.DataFrame", "pandas.Series",
    *(f"pyarrow.{name}" for name in (
        "Scalar", "Array", "ChunkedArray", "Table", "RecordBatch", "StructArray", "ListArray", "MapArray",
        "BooleanArray", "BinaryArray", "Int32Array", "Schema", "StructType", "Buffer",
    )),
}  # fmt: skip
"""Types whose truth says something else than that they are there."""

GIVING = {"poll": "confluent_kafka.Message"}
"""Methods of foreign objects that give one or None, where a call of them with an argument is meant."""


WORDS = (".poll(", *sorted({name.partition(".")[0] for name in FOREIGN}))
"""A module without any of these has none."""


def sources() -> list[Path]:
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(found) > 500
    return [path for path in found if any(word in path.read_text() for word in WORDS)]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


class Names:
    """What a module's names mean, and which of its functions and fields hold foreign objects."""

    def __init__(self, tree: ast.Module) -> None:
        self.imported: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                self.imported |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
            elif isinstance(node, ast.Import):
                self.imported |= {a.asname or a.name: a.name for a in node.names}
        self.fields = {
            n.target.id
            for c in ast.walk(tree)
            if isinstance(c, ast.ClassDef)
            for n in c.body
            if isinstance(n, ast.AnnAssign)
            and isinstance(n.target, ast.Name)
            and self.is_foreign(n.annotation)
        }
        self.functions = {
            n.name
            for n in ast.walk(tree)
            if isinstance(n, ast.FunctionDef) and n.returns and self.is_foreign(n.returns)
        }

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

    def gives_foreign(self, value: ast.expr) -> bool:
        """Whether an expression is a foreign object, or None."""
        match value:
            case ast.NamedExpr(value=inner) | ast.Await(value=inner):
                return self.gives_foreign(inner)
            case ast.Call(func=ast.Attribute(attr=name), args=[_, *_]) if name in GIVING:
                return True
            case (
                ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name))
                | ast.Call(func=ast.Name(id=name))
            ):
                return name in self.functions or self.imported.get(name, "") in FOREIGN
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name)):
                whole = f"{self.imported.get(module, '')}.{name}"
                return whole in FOREIGN or whole in ("pyarrow.scalar", "pyarrow.array", "pyarrow.table")
            case ast.Attribute(attr=name):
                return name in self.fields
        return False


def asked_truths(function: ast.AST) -> Iterator[ast.expr]:
    """All expressions of which a function asks the truth."""
    for node in ast.walk(function):
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


def faults(tree: ast.Module) -> Iterator[int]:
    """Lines on which the truth of a foreign object is asked."""
    names = Names(tree)
    functions = [
        n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    ]
    for function in functions:
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        local = {a.arg for a in every if a.annotation and names.is_foreign(a.annotation)}
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if names.gives_foreign(value):
                    local.add(name)
                case ast.AnnAssign(target=ast.Name(id=name), annotation=said) if names.is_foreign(said):
                    local.add(name)
                case ast.NamedExpr(target=ast.Name(id=name), value=value) if names.gives_foreign(value):
                    local.add(name)
        for test in asked_truths(function):
            for part in parts(test):
                if (isinstance(part, ast.Name) and part.id in local) or names.gives_foreign(part):
                    yield part.lineno


def test_no_truth_of_a_foreign_object_is_asked() -> None:
    found = {f"{path.relative_to(ROOT)}:{line}" for path in sources() for line in faults(tree_of(path))}

    assert found == set()


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
    ],
)
def test_the_guard_sees_the_kind(text: str) -> None:
    module = (
        "import pyarrow as pa\nfrom confluent_kafka import Message\nfrom decimal import Decimal\n"
        "from pyspark.sql import DataFrame\nclass Seat:\n    rows: pa.Table | None = None\n"
        f"def frame() -> DataFrame: ...\ndef f(self, seat):\n    {text}\n"
    )

    assert list(faults(ast.parse(module)))


def test_the_guard_lets_comparisons_with_none_pass() -> None:
    text = "if (found := reader.poll(1)) is not None and found.value():\n        process.poll()"

    assert not list(faults(ast.parse(f"def f(reader, process):\n    {text}\n")))
