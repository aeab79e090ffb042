"""The decoder that a landing uses: it masks fields, and leaves out records that the spec does not want."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from frazil.connections import Connections
from frazil.errors import SpecError, UsageError
from frazil.formats.logical import Field, Struct
from frazil.formats.masks.where import ArrowWhere
from frazil.formats.record import RecordDecoder, decoder_for
from frazil.formats.types import as_stored, to_iceberg
from frazil.spec.topic import TableSpec
from frazil.tables.filters import parse_filter

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression


def landing_decoder(spec: TableSpec, connections: Connections) -> RecordDecoder:
    """What decodes a topic's records for its table.

    Raises:
        SpecError: `where` is no filter over the fields of the records.
        ConfigureError: The profile lacks a key of a mask.
        FrazilError: See `decoder_for`.
    """
    decoder = decoder_for(spec, connections.registry, connections.settings.named_keys)
    return replace(decoder, where=_where(spec, *decoder.unmasked)) if spec.where else decoder


def _where(spec: TableSpec, key: Struct, value: Struct) -> ArrowWhere:
    from pyiceberg.expressions.visitors import bind
    from pyiceberg.io.pyarrow import expression_to_pyarrow

    fields = (*(f for f in key if not value.get(f.name)), *value)
    schema = to_iceberg(as_stored(fields))
    try:
        asked = parse_filter(schema, spec.where, f"records of {spec.topic}", "Nothing was landed.")
    except UsageError as e:
        raise SpecError(f"where: {e.what}", where=e.where, meaning=e.meaning, todo=e.todo) from None
    condition = expression_to_pyarrow(bind(schema, _as_sql(asked), case_sensitive=True), schema)
    names = set(_columns(asked, fields))
    return ArrowWhere(condition, tuple((name, value.get(name) is None) for name in sorted(names)))


def _as_sql(asked: BooleanExpression) -> BooleanExpression:
    """The same, but that null is in no list and not outside of one either."""
    from pyiceberg.expressions import And, NotIn, NotNull, Or
    from pyiceberg.expressions.visitors import rewrite_not

    is_there: Any = NotNull

    def without_null(part: Any) -> Any:
        match part:
            case And() | Or():
                return type(part)(without_null(part.left), without_null(part.right))
            case NotIn():
                return And(part, is_there(part.term))
        return part

    return without_null(rewrite_not(asked))  # type: ignore[no-any-return]


def _columns(asked: Any, fields: tuple[Field, ...]) -> Iterator[str]:
    """The columns of which, or of parts of which, a filter speaks."""
    if hasattr(asked, "term"):
        path = asked.term.name
        yield next(f.name for f in fields if path == f.name or path.startswith(f"{f.name}."))
    for part in ("left", "right", "child"):
        if hasattr(asked, part):
            yield from _columns(getattr(asked, part), fields)
