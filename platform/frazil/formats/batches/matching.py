"""Whether what is decoded has a place in a table: a field that is not found is an error, and never null."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from frazil.errors import FaultError
from frazil.formats.logical import List, Map, Struct, Type, Where


def refuse_unmatched(decoded: Struct, table: Struct, name: str, own: Collection[str] = ()) -> None:
    """Makes sure that each decoded field has its column, and each required column its field, at every depth.

    Args:
        decoded: What records become.
        table: The table's columns.
        name: The table's name.
        own: Columns that are made of something else than what is decoded.

    Raises:
        FaultError: Any is left over.
    """
    if unmatched := list(_left_over(decoded, table, Where(), own)):
        raise FaultError(
            f"What is decoded does not fit {name}: {'; '.join(unmatched)}.",
            where=f"table {name}",
            meaning="Nothing was landed.",
            todo="Land again: the table then follows its schema. If it stays, report it with the schema.",
        )


def _left_over(have: Type, want: Type, at: Where, own: Collection[str] = ()) -> Iterator[str]:
    kinds = (Struct, List, Map)
    if type(have) is not type(want) or not isinstance(have, kinds) or not isinstance(want, kinds):
        return
    known = {f.name: f for f in have.fields}
    for field in want.fields:
        where = at.within(want, field.name)
        if mine := known.pop(field.name, None):
            yield from _left_over(mine.type, field.type, where)
        elif not field.optional and field.name not in own:
            yield f"there are no values for {where.text}, which is required"
    yield from (f"there is no column for {at.within(have, name).text}" for name in known)
