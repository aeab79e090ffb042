"""Filters over a table's rows, as people write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.errors import UsageError
from frazil.quoting import in_filter

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.schema import Schema


def parse_filter(schema: Schema, where: str, over: str, meaning: str) -> BooleanExpression:
    """A filter that every column of which is there; not bound to the schema.

    Args:
        over: What it is a filter over, for people: `dead letters`.
        meaning: What a wrong one means for the data.

    Raises:
        UsageError: It is none, or names a column that there is not.
    """
    from pyiceberg.expressions.parser import parse
    from pyiceberg.expressions.visitors import bind
    from pyparsing import ParseException

    try:
        asked = parse(where or "true")
        bind(schema, asked, case_sensitive=True)
    except (ParseException, ValueError, TypeError) as e:
        columns = ", ".join(in_filter(field.name) for field in schema.fields)
        why = f"not understood from {where[e.loc :]!r} on" if isinstance(e, ParseException) else str(e)
        raise UsageError(
            f"{where!r} is no filter over {over}.",
            where=why,
            meaning=meaning,
            todo=f"Write column = 'text', column > number, and, or, not, in (...); columns: {columns}.",
        ) from None
    return asked
