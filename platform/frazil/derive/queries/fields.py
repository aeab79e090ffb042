"""Columns and parameters that a spec names, and its query has not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from frazil.derive.queries.query import ERROR_COLUMN, Query
from frazil.derive.queries.scopes import ALL, nearest
from frazil.derive.queries.totals import Merge
from frazil.spec.derived import DerivedSpec

__all__ = ["odd_fields"]


def odd_fields(query: Query, spec: DerivedSpec, columns: Sequence[str], merge: Merge | None) -> Iterator[str]:
    """What is wrong with the fields of a spec, each named.

    Args:
        query: The spec's query.
        spec: What the user wrote.
        columns: Names of the query's output; `*` among them where not all are known.
        merge: Of totals and windows, where their totals can be merged.
    """
    for name in spec.parameters:
        if name not in query.parameters:
            yield f"parameters: {name} is nowhere in the query; {nearest(name, query.parameters)}"
    if ERROR_COLUMN in columns and spec.kind != "rows":
        yield f"kind: {spec.kind} keeps no bad rows apart, and the query has `{ERROR_COLUMN}`; rows does"
    if ALL not in columns:
        table = [name for name in columns if name != ERROR_COLUMN]
        for field, names in _columns_of(spec).items():
            yield from _strange(field, names, table)
    if spec.window and merge:
        yield from _odd_window(spec, spec.window.start, merge)


def _columns_of(spec: DerivedSpec) -> dict[str, Sequence[str]]:
    """Columns by the field that names them; of a column within another, the outer one."""
    named: dict[str, Sequence[str]] = {
        "key": spec.key,
        "latest_by": spec.latest_by,
        "partition_by": [column for _, column in spec.transforms],
        "sort_by": [column for term in spec.sort_terms for column in term.columns],
        "feeds.key": spec.feeds.key if spec.feeds else (),
    }
    return {field: [name.partition(".")[0] for name in names] for field, names in named.items()}


def _odd_window(spec: DerivedSpec, start: str, merge: Merge) -> Iterator[str]:
    yield from _strange("window.start", [start], merge.keys, "GROUP BY")
    if not spec.cumulative_by:
        return
    yield from _strange("cumulative_by", spec.cumulative_by, merge.keys, "GROUP BY")
    if others := [key for key in merge.keys if key not in (start, *spec.cumulative_by)]:
        yield f"cumulative_by: name {', '.join(others)}, too: all of GROUP BY but {start}"
    for name, how in merge.functions.items():
        if how != "sum":
            yield f"cumulative_by: {name} is a {how}; only sums and counts add up over windows"


def _strange(
    field: str, names: Sequence[str], known: Sequence[str], of: str = "the query's columns"
) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f"{field}: {name} is none of {of}; {nearest(name, known)}"
