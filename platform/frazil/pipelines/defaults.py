"""What tables have where they write nothing: `defaults` of a pipeline, `table_defaults` of the profile."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import ValidationError

from frazil.errors import SpecError
from frazil.spec.derived import DerivedSpec
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

__all__ = ["OWN", "profile_defaults", "with_defaults"]

T = TypeVar("T", bound=AnyTable)

OWN = ("topic", "table", "sql", "python")
"""Fields that say which table it is: no two tables share them."""

_LEAST: dict[type[AnyTable], dict[str, Any]] = {
    TableSpec: {"topic": "any"},
    DerivedSpec: {"table": "any", "sql": "any.sql"},
}
"""The least that makes a spec of each kind."""


def with_defaults(tables: Any, written: Any, common: Mapping[str, Any]) -> Any:
    """Tables as YAML gives them, each over the pipeline's defaults, and these over the profile's.

    Groups of fields, such as `upkeep`, are merged field by field; a list is taken whole. What has another
    form than tables and defaults stays as it is, for the model to refuse.
    """
    if not isinstance(tables, list | tuple):
        return tables
    below = _over(written, common) if isinstance(written, Mapping) else common
    return [_over(table, below) if isinstance(table, dict) else table for table in tables]


def profile_defaults(written: Mapping[str, Any], spec: type[T]) -> dict[str, Any]:
    """Those of the profile's `table_defaults` that tables of this kind have.

    Raises:
        SpecError: No table has such a field, or its value can't be one.
    """
    if not written:
        return {}
    for name in written:
        _refuse_unknown(name)
    own = {name: value for name, value in written.items() if name in spec.model_fields}
    try:
        spec.model_validate({**_LEAST[spec], **own})
    except ValidationError as e:
        problem = e.errors()[0]
        at = ".".join(map(str, problem["loc"]))
        raise _refusal(at, problem["msg"].removeprefix("Value error, ")) from None
    return own


def _refuse_unknown(name: str) -> None:
    known = sorted({*TableSpec.model_fields, *DerivedSpec.model_fields} - {*OWN})
    if name in OWN:
        raise _refusal(name, "each table names its own")
    if name not in known:
        near = get_close_matches(name, known, n=1, cutoff=0.4)
        raise _refusal(name, f"unknown name; did you mean {near[0]!r}?" if near else "unknown name")


def _refusal(at: str, why: str) -> SpecError:
    return SpecError(
        f"The profile's table_defaults{f'.{at}' if at else ''}: {why}",
        todo="Fix it in the profile, or FRAZIL_TABLE_DEFAULTS; no pipeline can be read until then.",
    )


def _over(written: Mapping[str, Any], below: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **below,
        **{
            name: _over(value, below[name])
            if isinstance(value, dict) and isinstance(below.get(name), dict)
            else value
            for name, value in written.items()
        },
    }
