"""Every rule of a JSON Schema, by jsonschema-rs in Spark's Python workers: one flag per record.

Only the raw bytes cross to Python, and a boolean comes back: 2.4 CPU seconds per 2 million small records
(reference/decode.md, section 4). The function is pickled by value: workers need jsonschema-rs and pyarrow,
not Frazil.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from frazil.errors import SchemaRefusedError
from frazil.formats.protocol import WriterSchema
from frazil.formats.spark import arrow_function

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

__all__ = ["check_rules", "flags", "strictly_valid", "validator_maker"]


def validator_maker() -> Callable[[str, tuple[tuple[str, str], ...]], Any]:
    """Makes validators of a schema's text and of other subjects' texts, by the names it refers to them with.

    A function within a function: such are pickled by value.
    """

    def make(text: str, dependencies: tuple[tuple[str, str], ...]) -> Any:
        import json

        import jsonschema_rs

        def found(uri: str) -> Any:
            return next(json.loads(t) for n, t in dependencies if uri == n or uri.endswith(f"/{n}"))

        return jsonschema_rs.validator_for(json.loads(text), retriever=found)

    return make


def check_rules(writers: Iterable[WriterSchema], subject: str) -> None:
    """Makes sure, before Spark's workers do, that the schemas' rules can be applied.

    Raises:
        SchemaRefusedError: One of them has a pattern or a reference that jsonschema-rs does not take.
    """
    make = validator_maker()
    for writer in writers:
        try:
            make(writer.text, writer.dependencies)
        except Exception as e:  # noqa: BLE001 - it raises several kinds, and passes on the retriever's
            raise SchemaRefusedError(
                f"Records can't be validated: {e!s:.300}",
                where=f"subject {subject}, schema id {writer.schema_id}",
                meaning="Nothing was landed.",
                todo="Mend the schema, or set validate: types.",
            ) from None


def strictly_valid(raw: str, writers: Mapping[int, WriterSchema], framed: bool) -> Column:
    """Whether the bytes are JSON that the schema allows, by the schema that they were written with."""
    from pyspark.sql.functions import col

    texts = {i: (w.text, w.dependencies) for i, w in writers.items()}
    flag: Callable[[Column], Column] = arrow_function(flags(texts, framed), "boolean")
    return flag(col(raw))


def flags(
    texts: dict[int, tuple[str, tuple[tuple[str, str], ...]]], framed: bool
) -> Callable[[pa.Array], pa.Array]:
    """What `strictly_valid` runs in workers; pickled by value, all that it needs being inside."""
    make = validator_maker()
    made: dict[int, Any] = {}

    def valid(raw: bytes | None) -> bool:
        import json

        schema_id = int.from_bytes(raw[1:5], "big") if framed and raw else next(iter(texts))
        if raw is None or schema_id not in texts:
            return False
        if schema_id not in made:
            made[schema_id] = make(*texts[schema_id])
        try:
            return bool(made[schema_id].is_valid(json.loads(raw[5:] if framed else raw)))
        except (ValueError, RecursionError):
            return False

    def each(raws: pa.Array) -> pa.Array:
        import pyarrow

        return pyarrow.array([valid(r) for r in raws.to_pylist()], pyarrow.bool_())

    return each
