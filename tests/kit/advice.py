"""What errors tell their readers to do, as it stands in the code, and the tests that do it.

`python tests/kit/advice.py` writes the list anew: what is new in it has no test, which the guard tells.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("advice.tsv")
FOLDERS = ("platform/frazil", "assets", "resources", "sensors")
NONE = "-"
"""Stands for a test that nobody has written yet."""


def advice() -> set[tuple[str, str]]:
    """Each `todo` of the code, by its file; what is filled in is `{}`."""
    return {
        (str(file.relative_to(ROOT)), text)
        for folder in FOLDERS
        for file in sorted((ROOT / folder).rglob("*.py"))
        for text in _todos(ast.parse(file.read_text()))
    }


def listed() -> dict[tuple[str, str], str]:
    """The test that follows each of them, as the list has it."""
    rows = (line.split("\t") for line in LIST.read_text().splitlines())
    return {(file, text): test for test, file, text in rows}


def _todos(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "todo" and (text := _text(node.value).strip()):
            yield text


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return " ".join(text.split())
        case ast.JoinedStr(values=values):
            return "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in values)
        case ast.BinOp(left=left, right=right):
            return f"{_text(left)} {_text(right)}"
        case ast.IfExp(body=body, orelse=other):
            return f"{_text(body)} | {_text(other)}"
        case ast.BoolOp(values=parts):
            return " | ".join(map(_text, parts))
        case _:
            return f"<{ast.unparse(node)}>"


def _write() -> None:
    before = listed() if LIST.exists() else {}
    rows = sorted((file, text, before.get((file, text), NONE)) for file, text in advice())
    LIST.write_text("".join(f"{test}\t{file}\t{text}\n" for file, text, test in rows))


if __name__ == "__main__":
    _write()
