"""JSON in the JVM: one branch per schema id, each record parsed once, and generated checks.

The checks: `json_whole` (all of the text was read), `json_texts` (a text was a string), `json_checks` (the
rest). Each stage has a column of its own, or Spark would compute it again for whatever names it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from frazil.formats.json.checks import JsonSql
from frazil.formats.json.nodes import Members, Node
from frazil.formats.json.reasons import JsonReasons
from frazil.formats.json.sql import all_of, present
from frazil.formats.json.strict import check_rules, strictly_valid
from frazil.formats.json.texts import all_strings
from frazil.formats.json.whole import Whole
from frazil.formats.json.writers import json_columns, readable
from frazil.formats.logical import Struct
from frazil.formats.protocol import Half, Reason, WriterSchema
from frazil.formats.spark import first_of
from frazil.formats.wire import WireError, WireFormat
from frazil.quoting import literal

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["JsonDecoder"]

_HALF_PAIR = literal(
    r"(?<!\\)(?:\\\\)*(?:\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
"""Half of a surrogate pair as an escape: no character; Java would make a question mark of it."""
_ESCAPE = literal(r"\u")
_PARTS = ("payload", "text", "clean", "strict")


class JsonDecoder:
    """Decodes JSON, framed or bare.

    Args:
        writers: The subject's schemas, oldest first; the last one is the reader.
        subject: Named in errors.
        half: Its word names the column of a root that is no object.
        strict: Whether every rule of the schema must hold, not only types and required fields.
        framed: Whether records have Confluent's header; else all are of the newest schema.
    """

    def __init__(
        self, writers: Sequence[WriterSchema], subject: str, half: Half, strict: bool, framed: bool
    ) -> None:
        self._columns = json_columns(writers, subject, half.word)
        writers = writers if framed else writers[-1:]
        self._nodes = readable(writers, subject)
        self._texts = {w.schema_id: w for w in reversed(writers) if w.schema_id in self._nodes}
        if strict:
            check_rules(self._texts.values(), subject)
        self._reasons = {i: JsonReasons(w, self._nodes[i], strict) for i, w in self._texts.items()}
        self._strict, self._framed = strict, framed
        self._wire = WireFormat(framed, writers[-1].schema_id)
        objects = all(isinstance(node, Members) for node in self._nodes.values())
        self._whole = Whole(secrets.token_hex(8), objects)

    @property
    def writers(self) -> tuple[int, ...]:
        """Schema ids that can be read, newest first."""
        return tuple(self._nodes)

    @property
    def columns(self) -> Struct:
        """The newest schema as columns, optional where an older one may leave something out."""
        return self._columns

    def decode(self, frame: DataFrame, half: Half) -> DataFrame:
        """See `Decoder.decode`."""
        from pyspark.sql import functions as F

        own = f"{half.data}_"
        frame = frame.withColumn(f"{own}payload", F.expr(self._wire.payload(half)))
        frame = frame.withColumn(f"{own}text", F.expr(self._whole.text(f"{own}payload")))
        flag = strictly_valid(half.raw, self._texts, self._framed) if self._strict else F.lit(True)
        frame = frame.withColumn(f"{own}clean", F.expr(_clean(f"{own}text"))).withColumn(f"{own}strict", flag)
        for i, (schema_id, node) in enumerate(self._nodes.items()):
            parsed = F.from_json(f"{own}text", self._whole.type(node), self._whole.options)
            frame = frame.withColumn(
                f"{own}{i}", F.when(F.expr(self._wire.written_with(half, schema_id)), parsed)
            )
        return (
            frame.withColumn(half.data, self._each(own, self._columns_of))
            .withColumn(half.ok, F.coalesce(self._each(own, self._holds), F.lit(False)))
            .withColumn(half.writer, self._each(own, lambda own, index, _: str(index)))
            .drop(*(f"{own}{part}" for part in (*_PARTS, *range(len(self._nodes)))))
        )

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`; by Python's parser and jsonschema-rs."""
        try:
            schema_id, payload = self._wire.parts(raw)
        except WireError as e:
            return e.reason
        if schema_id not in self._reasons:
            return "schema_id", f"schema id {schema_id} is not of this subject, or not readable"
        return self._reasons[schema_id].explain(payload)

    def _each(self, own: str, made: Callable[[str, int, Node], str]) -> Column:
        """Of each writer's SQL the one whose header the record has."""
        from pyspark.sql import functions as F

        return first_of(
            [
                (F.expr(f"{own}{i} IS NOT NULL"), F.expr(made(own, i, node)))
                for i, node in enumerate(self._nodes.values())
            ]
        )

    def _holds(self, own: str, index: int, node: Node) -> str:
        """Whether the record is what the schema says."""
        text, parsed = f"{own}text", f"{own}{index}"
        value = self._whole.value(parsed)
        return all_of(
            f"{own}clean AND {own}strict",
            self._whole.proof(parsed),
            present(node, value),
            JsonSql(text).check(node, value),
            all_strings(node, self._whole, text, parsed),
        )

    def _columns_of(self, own: str, index: int, node: Node) -> str:
        sql, value = JsonSql(f"{own}text"), self._whole.value(f"{own}{index}")
        if isinstance(node, Members):
            return sql.value(node, value, self._columns)
        column = self._columns.fields[0]
        return f"named_struct('{column.name}', {sql.value(node, value, column.type)})"


def _clean(text: str) -> str:
    """Whether a text is Unicode: Java makes other characters of what is none."""
    return f"is_valid_utf8({text}) AND (NOT contains({text}, {_ESCAPE}) OR NOT {text} RLIKE {_HALF_PAIR})"
