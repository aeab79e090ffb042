"""What errors tell their readers to do, as it stands in the code, and the tests that do it.

`python tests/kit/pages/advice.py` writes the list anew: what is new in it has no test, which the guard tells.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
LIST = Path(__file__).with_name("advice.tsv")
FOLDERS = ("platform", "assets", "resources", "sensors")

NONE = "-"
"""Stands for a test that nobody has written yet."""
ELSEWHERE = "elsewhere: "
"""Stands before the reason why no test does it: it is done in others' systems, or asks for a report."""
LOOKS = "looks"
"""Stands for a test where the commands that are named change no table, and settings say where things are."""

_TODO = "todo"
_AGAIN = "again"
"""What a job's errors tell as its next step: `Land again.`"""

_TELLING = ast.keyword, ast.Assign, ast.FunctionDef, ast.Call
"""Nodes that may hold one."""


@cache
def advice() -> frozenset[tuple[str, str]]:
    """Each `todo` of the code, by its file; what is filled in is `{}`.

    What an error passes on of another one, or of its caller, is listed where it is written.
    """
    trees = {
        str(file.relative_to(ROOT)): ast.parse(file.read_text())
        for folder in FOLDERS
        for file in sorted((ROOT / folder).rglob("*.py"))
    }
    own = {file: _takers(tree) for file, tree in trees.items()}
    takers = {name: at for names in own.values() for name, at in names.items() if at is not None}
    known = {file: _Module.of(tree, trees, takers | own[file]) for file, tree in trees.items()}
    return frozenset((file, text) for file, module in known.items() for text in module.todos())


def listed() -> dict[tuple[str, str], str]:
    """The test that follows each of them, as the list has it."""
    rows = (line.split("\t") for line in LIST.read_text().splitlines())
    return {(file, text): test for test, file, text in rows}


def _takers(tree: ast.Module) -> dict[str, int | None]:
    """The place of `todo` among the parameters of each function of a module; None where it has none."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    named = {f.name: [a.arg for a in f.args.args if a.arg not in ("self", "cls")] for f in functions}
    return {name: args.index(_TODO) if _TODO in args else None for name, args in named.items()}


@dataclass(frozen=True)
class _Module:
    """One file: its constants and its functions of one sentence, with those that it imports."""

    tree: ast.Module
    texts: Mapping[str, ast.expr]
    takers: Mapping[str, int | None]

    @classmethod
    def of(
        cls, tree: ast.Module, trees: Mapping[str, ast.Module], takers: Mapping[str, int | None]
    ) -> _Module:
        texts: dict[str, ast.expr] = {}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                source = f"platform/{(node.module or '').replace('.', '/')}.py"
                there = dict(_texts(trees[source])) if source in trees else {}
                texts |= {name.name: there[name.name] for name in node.names if name.name in there}
        return cls(tree, texts | dict(_texts(tree)), takers)

    def todos(self) -> Iterator[str]:
        """What is told to be done in it."""
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, _TELLING))
        for node in nodes:
            for value in self._values(node):
                if text := self._text(value).strip(" |"):
                    yield text

    def _values(self, node: ast.AST) -> Iterator[ast.expr]:
        match node:
            case ast.keyword(arg=arg, value=value) if arg == _TODO or (arg == _AGAIN and self._is_one(value)):
                yield value
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == _TODO and self._says(value):
                yield value
            case ast.FunctionDef(args=args):
                defaults = zip(args.args[::-1], args.defaults[::-1], strict=False)
                named = zip(args.kwonlyargs, args.kw_defaults, strict=True)
                yield from (value for arg, value in [*defaults, *named] if arg.arg == _TODO and value)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args):
                at = self.takers.get(name)
                yield from filter(self._says, [] if at is None else args[at : at + 1])

    def _says(self, node: ast.expr) -> bool:
        """Whether a value is a text: others have parameters and variables of that name."""
        return not self._text(node).startswith("<")

    def _text(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=str(text)):
                return " ".join(text.split())
            case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)) if name in self.texts:
                return self._text(self.texts[name])
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in (_TODO, _AGAIN):
                return ""
            case ast.JoinedStr(values=values):
                return "".join(map(self._part, values))
            case ast.BinOp(left=left, right=right):
                return f"{self._text(left)} {self._text(right)}"
            case ast.IfExp(body=body, orelse=other):
                return " | ".join(filter(None, map(self._text, (body, other))))
            case ast.BoolOp(values=parts):
                return " | ".join(filter(None, map(self._text, parts)))
            case _:
                return f"<{ast.unparse(node)}>"

    def _is_one(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Constant | ast.Name) and self._says(node) and bool(self._text(node))

    def _part(self, node: ast.expr) -> str:
        match node:
            case ast.FormattedValue(value=ast.Name() | ast.Attribute(value=ast.Name(id="job")) as value) if (
                not self._text(value)
            ):
                return ""
            case ast.Constant(value=text):
                return str(text)
            case ast.FormattedValue(value=ast.Name(id=name) | ast.Call(func=ast.Name(id=name)) as value) if (
                name in self.texts
            ):
                return self._text(value)
            case _:
                return "{}"


def _texts(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The texts of a module that have names: constants, and what functions of one statement return."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_text(value):
                yield name, value
            case ast.FunctionDef(name=name, body=[*_, ast.Return(value=ast.expr() as value)]) if _is_text(
                value
            ):
                yield name, value


def _is_text(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_text(left) or _is_text(right)
        case ast.IfExp(body=body, orelse=other):
            return _is_text(body) and _is_text(other)
        case _:
            return False


def _write() -> None:
    before = listed() if LIST.exists() else {}
    rows = sorted((file, text, before.get((file, text), NONE)) for file, text in advice())
    LIST.write_text("".join(f"{test}\t{file}\t{text}\n" for file, text, test in rows))


if __name__ == "__main__":
    _write()
