"""What the code says to people: each text of it, with the parts that are filled in later between marks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kit.pages.advice import FOLDERS, ROOT

OPENS, CLOSES = "\x01", "\x02"
"""Around what is filled in, which is an expression."""

FILLED = re.compile(f"{OPENS}([^{OPENS}{CLOSES}]*){CLOSES}")


@dataclass(frozen=True)
class Text:
    """A text of the code, on one line; adjacent ones are one."""

    file: str
    line: int
    text: str

    @property
    def where(self) -> str:
        """For people."""
        return f"{self.file}:{self.line}"


def texts() -> list[Text]:
    """All texts of the code, and what its docstrings say."""
    return [
        Text(str(file.relative_to(ROOT)), line, " ".join(text.split()))
        for folder in FOLDERS
        for file in sorted((ROOT / folder).rglob("*.py"))
        for line, text in _texts(ast.parse(file.read_text()))
    ]


def filled(text: str, what: Mapping[str, str], other: str) -> str:
    """A text with the parts that are filled in: each by its expression, or by the other word."""
    return FILLED.sub(lambda part: what.get(part[1], other), text)


def _texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.expr) and _is_text(node):
        yield node.lineno, _text(node)
        inner: list[ast.AST] = [part.value for part in ast.walk(node) if isinstance(part, ast.FormattedValue)]
    else:
        inner = list(ast.iter_child_nodes(node))
    for each in inner:
        yield from _texts(each)


def _is_text(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_text(left) or _is_text(right)
        case _:
            return False


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(_text, values))
        case ast.FormattedValue(value=value):
            return f"{OPENS}{ast.unparse(value)}{CLOSES}"
        case ast.BinOp(left=left, right=right):
            return _text(left) + _text(right)
        case _:
            return f"{OPENS}{ast.unparse(node)}{CLOSES}"
