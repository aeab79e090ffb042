"""JSON Schema among the formats: its columns, its decoder in the JVM, and what gives its records their shape.

Each record is parsed once, by one branch per schema id. Then generated SQL checks that all of the text was
read, that a text was a string (`proofs`), and the rest (`checks`). Each stage has a column of its own, or
Spark would compute it again for whatever names it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from frazil.errors import MALFORMED, SchemaRefusedError
from frazil.formats.bare import Bare
from frazil.formats.json.checks import JsonSql
from frazil.formats.json.independent import columns_of_text
from frazil.formats.json.nodes import Branches, Members, Node, has_text
from frazil.formats.json.proofs import Whole, all_strings
from frazil.formats.json.reasons import JsonReasons, validator_maker
from frazil.formats.json.references import NAMED
from frazil.formats.json.schema import json_columns, readable
from frazil.formats.json.sql import all_of, present
from frazil.formats.json.texts import rewriter
from frazil.formats.json.width import LARGE, fault, narrow_sql
from frazil.formats.logical import Struct
from frazil.formats.paths import member_path
from frazil.formats.protocol import UNREADABLE, ArrowDecoder, Half, HalfSchemas, Reason, WriterSchema
from frazil.formats.python_rows import decoded_by_python
from frazil.formats.types import arrow_function, first_of
from frazil.formats.wire import WireError, WireFormat
from frazil.quoting import literal

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

Parts = Iterator[tuple[str, Any]]

_NOTES = frozenset({"$schema", "$id", "$comment", "description", "examples"})
"""Keywords that say nothing about a record's shape."""

_HALF_PAIR = literal(
    r"(?<!\\)(?:\\\\)*(?:\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
"""Half of a surrogate pair, as an escape. It is no character; Java would turn it into a question mark."""
_ESCAPE = literal(r"\u")
_PARTS = ("payload", "text", "clean", "strict")


class Json:
    """See `SchemaFormat`."""

    title = "JSON"
    takes_record_type = False

    def columns(self, schemas: HalfSchemas) -> Struct:
        """See `Format.columns`."""
        return json_columns(schemas.writers, schemas.subject, schemas.half.word, schemas.unmappable)

    def decoder(self, schemas: HalfSchemas) -> JsonDecoder:
        """See `Format.decoder`."""
        return JsonDecoder(schemas)

    def check(self, text: str) -> None:
        """See `SchemaFormat.check`."""
        import jsonschema_rs

        nothing_else = jsonschema_rs.Registry([])  # else it would fetch a meta-schema from anywhere
        try:
            jsonschema_rs.meta.validate(json.loads(text), registry=nothing_else)
        except jsonschema_rs.ReferencingError as e:
            raise ValueError(str(e)) from None

    def shape(self, schema: WriterSchema) -> Parts:
        """See `SchemaFormat.shape`: docs and the order of keywords make no difference."""
        return _json(json.loads(schema.text), "")


class JsonDecoder:
    """Decodes JSON, framed or bare."""

    def __init__(self, schemas: HalfSchemas) -> None:
        self.columns = json_columns(schemas.writers, schemas.subject, schemas.half.word, schemas.unmappable)
        writers = schemas.writers if schemas.framed else schemas.writers[-1:]
        self._nodes = readable(writers, schemas.subject, schemas.unmappable)
        self.writers = tuple(self._nodes)
        self._unreadable = {w.schema_id for w in writers} - set(self._nodes)
        self._texts = {w.schema_id: w for w in reversed(writers) if w.schema_id in self._nodes}
        if schemas.strict:
            _check_rules(self._texts.values(), schemas.subject)
        self._reasons = {i: JsonReasons(w, self._nodes[i], schemas.strict) for i, w in self._texts.items()}
        self._schemas, self._wire = schemas, WireFormat(schemas.framed, writers[-1].schema_id)
        objects = all(isinstance(node, Members) for node in self._nodes.values())
        self._whole = Whole(secrets.token_hex(8), objects)

    def decode(self, frame: DataFrame, half: Half) -> DataFrame:
        """See `Decoder.decode`."""
        if any(isinstance(node, Branches) and has_text(node) for node in self._nodes.values()):
            return self._decoded_by_columns(frame, half)  # which branch a text is in, SQL can't tell before
        from pyspark.sql import functions as F

        own = f"{half.data}_"
        frame = frame.withColumn(f"{own}payload", self._payload(half))
        frame = frame.withColumn(f"{own}text", F.expr(self._whole.text(f"{own}payload")))
        strict, framed = self._schemas.strict, self._schemas.framed
        flag = _strictly_valid(half.raw, self._texts, framed) if strict else F.lit(True)
        frame = frame.withColumn(f"{own}clean", F.expr(_clean(f"{own}text"))).withColumn(f"{own}strict", flag)
        for i, (schema_id, node) in enumerate(self._nodes.items()):
            parsed = F.from_json(f"{own}text", self._whole.type(node), self._whole.options)
            read = all_of(self._wire.written_with(half, schema_id), narrow_sql(node, f"{own}payload"))
            frame = frame.withColumn(f"{own}{i}", F.when(F.expr(read), parsed))
        return (
            frame.withColumn(half.data, self._each(own, self._columns_of))
            .withColumn(half.ok, F.coalesce(self._each(own, self._holds), F.lit(False)))
            .withColumn(half.writer, self._each(own, lambda own, index, _: str(index)))
            .drop(*(f"{own}{part}" for part in (*_PARTS, *range(len(self._nodes)))))
        )

    def _decoded_by_columns(self, frame: DataFrame, half: Half) -> DataFrame:
        recipe = self.arrow()

        def rows(batches: Any) -> Any:
            return (recipe.decode(batch).whole for batch in batches)

        return decoded_by_python(frame, half, rows, self.columns)

    def arrow(self) -> ArrowDecoder:
        """See `Decoder.arrow`."""
        from frazil.formats.json.arrow import JsonRecipe

        rules = ((self._texts[i].text, self._texts[i].dependencies) for i in self._nodes)
        return JsonRecipe(
            nodes=tuple(self._nodes.items()),
            columns=self.columns,
            framed=self._schemas.framed,
            rules=tuple(rules) if self._schemas.strict else (),
        )

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`; by Python's parser and jsonschema-rs."""
        try:
            schema_id, payload = self._wire.parts(raw)
        except WireError as e:
            return e.reason
        if schema_id in self._unreadable:
            return UNREADABLE, f"schema id {schema_id} can't be read by the newest version"
        if schema_id not in self._reasons:
            return "schema_id", f"schema id {schema_id} is not of subject {self._schemas.subject}"
        if why := fault(self._nodes[schema_id], payload):
            return why
        code, words = self._reasons[schema_id].explain(payload)
        if code == "value" and len(payload) > LARGE:
            return "too_large", f"it has {len(payload):,} bytes, which may be more than Spark reads as JSON"
        return code, words

    def values(self, raw: bytes) -> Bare | None:
        """See `Decoder.values`."""
        try:
            schema_id, payload = self._wire.parts(raw)
            return columns_of_text(self._nodes[schema_id], self.columns, payload)
        except (*MALFORMED, WireError):
            return None

    def _payload(self, half: Half) -> Column:
        """The text to read; what no column holds stands in it as a text of its own."""
        from pyspark.sql import functions as F

        if not any(map(has_text, self._nodes.values())):
            return F.expr(self._wire.payload(half))
        rewrite: Callable[[Column], Column] = arrow_function(
            rewriter(self._nodes, self._schemas.framed), "binary"
        )
        return rewrite(F.col(half.raw))

    def _each(self, own: str, made: Callable[[str, int, Node], str]) -> Column:
        """The SQL of the writer whose header the record has."""
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
            return sql.value(node, value, self.columns)
        column = self.columns.fields[0]
        return f"named_struct('{column.name}', {sql.value(node, value, column.type)})"


def _clean(text: str) -> str:
    """Whether a text is valid Unicode: Java replaces what is not."""
    return f"is_valid_utf8({text}) AND (NOT contains({text}, {_ESCAPE}) OR NOT {text} RLIKE {_HALF_PAIR})"


def _json(schema: Any, path: str, own_names: bool = False) -> Parts:
    match schema:
        case {} if schema:
            for word in sorted(schema):
                if own_names or word not in _NOTES:
                    yield from _json(schema[word], member_path(path, word), not own_names and word in NAMED)
        case [*items] if any(isinstance(item, dict | list) for item in items):
            for i, item in enumerate(items):
                yield from _json(item, f"{path}[{i}]")
        case [*items]:
            yield path, sorted(items, key=json.dumps)
        case _:
            yield path, schema


def _check_rules(writers: Iterable[WriterSchema], subject: str) -> None:
    """Makes sure, before Spark's workers do, that jsonschema-rs takes all patterns and references."""
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


def _strictly_valid(raw: str, writers: Mapping[int, WriterSchema], framed: bool) -> Column:
    """Whether the bytes are JSON that every rule of their own schema allows."""
    from pyspark.sql.functions import col

    texts = {i: (w.text, w.dependencies) for i, w in writers.items()}
    flag: Callable[[Column], Column] = arrow_function(flags(texts, framed), "boolean")
    return flag(col(raw))


def flags(
    texts: dict[int, tuple[str, tuple[tuple[str, str], ...]]], framed: bool
) -> Callable[[pa.Array], pa.Array]:
    """What `_strictly_valid` runs in Spark's Python workers: one flag per record.

    Only the raw bytes cross to Python: 2.4 CPU seconds per 2 million small records (reference/decode.md,
    section 4). Pickled by value: workers need jsonschema-rs and pyarrow, not Frazil.
    """
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
