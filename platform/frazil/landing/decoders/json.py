"""JSON in the JVM: one branch per schema id, generated checks, and proof that all of the text was read.

`from_json` stops at the end of the first value and drops what follows; `try_parse_json` does, too. So the
text is set between brackets, with a random key behind it: `{"r":{"v":[<text>],"<random>":[]}}`. Only where
the text is exactly one value come out exactly one `v` and that key. The other checks: `json_checks`.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from frazil.landing.decoders.json_checks import JsonSql
from frazil.landing.decoders.json_reasons import JsonReasons
from frazil.landing.decoders.json_sql import literal, parsed_type, present
from frazil.landing.decoders.json_strict import check_rules, strictly_valid
from frazil.landing.decoders.protocol import Half, Reason
from frazil.schemas.json_nodes import Members, Node
from frazil.schemas.json_writers import json_columns, readable
from frazil.schemas.logical import Struct
from frazil.schemas.registry import WriterSchema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["JsonDecoder"]

HEADER = 5
"""Bytes of the Confluent wire format before the payload: a zero and the schema id."""

_OPTIONS = {
    "columnNameOfCorruptRecord": "c",
    "allowNonNumericNumbers": "false",
    "allowSingleQuotes": "false",
}
_HALF_PAIR = (
    r"(?<!\\)(?:\\\\)*(?:\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
"""Half of a surrogate pair as an escape: no character; Java would make a question mark of it."""
_ESCAPE = literal(r"\u")


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
        self._end = secrets.token_hex(8)

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
        payload = f"substring({half.raw}, {HEADER + 1})" if self._framed else half.raw
        frame = frame.withColumn(f"{own}text", F.expr(f"CAST({payload} AS string)"))
        flag = strictly_valid(half.raw, self._texts, self._framed) if self._strict else F.lit(True)
        frame = frame.withColumn(f"{own}strict", flag)
        for i, (schema_id, node) in enumerate(self._nodes.items()):
            parsed = F.when(self._header(half, schema_id), self._parsed(node, f"{own}text"))
            frame = frame.withColumn(f"{own}{i}", parsed)
        whole = frame.withColumn(f"{own}whole", self._chosen(half, own))
        return (
            whole.withColumn(half.data, F.col(f"{own}whole.v"))
            .withColumn(half.ok, F.expr(f"coalesce({own}whole.ok AND {own}strict, false)"))
            .withColumn(half.writer, F.col(f"{own}whole.w"))
            .drop(*(f"{own}{part}" for part in ("text", "strict", "whole", *range(len(self._nodes)))))
        )

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`; by Python's parser and jsonschema-rs."""
        if not self._framed:
            return self._reasons[self.writers[0]].explain(raw)
        if len(raw) < HEADER:
            return "too_short", f"{len(raw)} bytes are too short for the wire format"
        if raw[0]:
            return "magic_byte", f"the first byte is {raw[0]}, not 0"
        schema_id = int.from_bytes(raw[1:HEADER], "big")
        if schema_id not in self._reasons:
            return "schema_id", f"schema id {schema_id} is not of this subject, or not readable"
        return self._reasons[schema_id].explain(raw[HEADER:])

    def _header(self, half: Half, schema_id: int) -> Column:
        from pyspark.sql import functions as F

        framed = f"startswith({half.raw}, X'00{schema_id:08x}')"
        return F.expr(framed if self._framed else f"{half.raw} IS NOT NULL")

    def _parsed(self, node: Node, text: str) -> Column:
        from pyspark.sql import functions as F

        between = F.concat(F.lit('{"r":{"v":['), F.col(text), F.lit(f'],"{self._end}":[]}}}}'))
        schema = f"struct<r:map<string,array<{parsed_type(node)}>>,c:string>"
        return F.from_json(between, schema, _OPTIONS)

    def _chosen(self, half: Half, own: str) -> Column:
        """Of the branches the one whose header the record has."""
        from pyspark.sql import functions as F

        branches = [
            (self._header(half, schema_id), F.expr(self._branch(node, own, i)))
            for i, (schema_id, node) in enumerate(self._nodes.items())
        ]
        first, *rest = branches
        return reduce(lambda c, b: c.when(*b), rest, F.when(*first))

    def _branch(self, node: Node, own: str, index: int) -> str:
        sql, parsed = JsonSql(f"{own}text"), f"{own}{index}"
        root = f"get({parsed}.r['v'], 0)"
        holds = [
            f"{parsed}.c IS NULL",
            f"size({parsed}.r) = 2 AND size({parsed}.r['v']) = 1",
            f"map_contains_key({parsed}.r, '{self._end}')",
            f"is_valid_utf8({own}text)",
            f"(NOT contains({own}text, {_ESCAPE}) OR NOT {own}text RLIKE {literal(_HALF_PAIR)})",
            present(node, root),
            sql.check(node, root),
        ]
        columns = self._value(sql, node, root)
        return f"named_struct('v', {columns}, 'ok', {' AND '.join(holds)}, 'w', {index})"

    def _value(self, sql: JsonSql, node: Node, root: str) -> str:
        if isinstance(node, Members):
            return sql.value(node, root, self._columns)
        column = self._columns.fields[0]
        return f"named_struct('{column.name}', {sql.value(node, root, column.type)})"
