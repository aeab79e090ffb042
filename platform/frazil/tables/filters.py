"""Filters over a table's rows, as people write them.

A column that is no plain word stands in double quotes, and a quote in it twice, as in SQL: so any name can
be written. PyIceberg's own grammar takes a backslash for a quote, refuses dots and line ends between quotes,
and makes spaces of tabs, those in constants too. So what it would change is hidden from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.errors import UsageError
from frazil.quoting import in_filter

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.schema import Schema

_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
_IN_NAMES = re.compile(r'[".\\\t\n\r]')
_IN_TEXTS = re.compile(r"\\(?!%)|[\t\n\r]")  # \% is a percent sign that LIKE takes for itself
_PRIVATE = range(0x100000, 0x10FFFE)  # no sign of any script


def parse_filter(schema: Schema, where: str, over: str, meaning: str) -> BooleanExpression:
    """A filter that every column of which is there; not bound to the schema.

    Args:
        over: What it is a filter over, for people: `dead letters`.
        meaning: What a wrong one means for the data.

    Raises:
        UsageError: It is not a filter, or names an unknown column.
    """
    from pyiceberg.expressions.parser import parse
    from pyiceberg.expressions.visitors import bind
    from pyparsing import ParseException

    signs = _Signs.unused_in(where)
    hidden = signs.hide(where or "true")
    try:
        asked: BooleanExpression = _shown(parse(hidden), signs.show)
        bind(schema, asked, case_sensitive=True)
    except (ParseException, ValueError, TypeError) as e:
        columns = ", ".join(in_filter(field.name) for field in schema.fields)
        rest = signs.show(hidden[e.loc :]) if isinstance(e, ParseException) else ""
        why = f"not understood from {rest!r} on" if isinstance(e, ParseException) else str(e)
        raise UsageError(
            f"{where!r} is no filter over {over}.",
            where=why,
            meaning=meaning,
            todo=f"Write column = 'text', column > number, and, or, not, in (...); columns: {columns}.",
        ) from None
    return asked


@dataclass(frozen=True, slots=True)
class _Signs:
    """Signs of which a filter has none, in the place of those that PyIceberg would change."""

    to: dict[str, str]

    @classmethod
    def unused_in(cls, where: str) -> _Signs:
        unused = (chr(code) for code in _PRIVATE if chr(code) not in where)
        return cls(dict(zip('".\\\t\n\r', unused, strict=False)))

    def hide(self, where: str) -> str:
        """The filter with other signs in its quoted names and texts."""
        return _QUOTED.sub(lambda match: self._hidden(match[0]), where)

    def show(self, text: str) -> str:
        """A name or a text as it was written."""
        return text.translate({ord(to): sign for sign, to in self.to.items()})

    def _hidden(self, text: str) -> str:
        if text.startswith("'"):
            return _IN_TEXTS.sub(lambda match: self.to[match[0]], text)
        inner = text[1:-1].replace('""', '"')
        return f'"{_IN_NAMES.sub(lambda match: self.to[match[0]], inner)}"'


def _shown(asked: Any, show: Callable[[str], str]) -> Any:
    """The same over columns and texts as they were written."""
    from pyiceberg.expressions import And, LiteralPredicate, Not, Or, SetPredicate, UnboundPredicate
    from pyiceberg.expressions.literals import StringLiteral

    def named(predicate: Any) -> str:
        return show(predicate.term.name)

    def literal(value: Any) -> Any:
        return StringLiteral(show(value.value)) if isinstance(value, StringLiteral) else value

    match asked:
        case And() | Or():
            return type(asked)(_shown(asked.left, show), _shown(asked.right, show))
        case Not():
            return Not(_shown(asked.child, show))
        case LiteralPredicate():
            return type(asked)(named(asked), literal(asked.literal))
        case SetPredicate():
            return type(asked)(named(asked), {literal(value) for value in asked.literals})
        case UnboundPredicate():
            return type(asked)(named(asked))
    return asked
