"""Avro among the formats: its columns, its decoder in the JVM, and what gives its records their shape.

One branch per schema id, a reader per id, and proof that all bytes were read. `from_avro` alone takes
trailing bytes, and lays the reader's logical type over the writer's number (1.23 becomes 0.0123 when the
scale grew). Hence the end sentinel and the reader per id; measured in reference/decode.md, sections 2
and 3: the checks cost 10-13 %.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from frazil.formats.avro.canonical import BadPayloadError
from frazil.formats.avro.limits import check_limits
from frazil.formats.avro.parser import PRIMITIVES, avro_text
from frazil.formats.avro.payloads import texts_of
from frazil.formats.avro.reasons import AvroReasons
from frazil.formats.avro.values import conversion, exact_pair, group_key, utf8_check
from frazil.formats.avro.versions import versions
from frazil.formats.bare import Bare
from frazil.formats.logical import Struct
from frazil.formats.paths import member_path
from frazil.formats.protocol import UNREADABLE, ArrowDecoder, Half, HalfSchemas, Reason, WriterSchema
from frazil.formats.types import arrow_function, first_of, spark_type
from frazil.formats.wire import WireError, WireFormat

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SENTINEL = "a7f31c5be2986d40"
"""Any eight bytes, in hex: appended to the payload, they must come out at its end."""

Parts = Iterator[tuple[str, Any]]

_SHAPE = ("symbols", "size", "logicalType", "precision", "scale", "default", "aliases", "order")
"""What makes two Avro schemas differ besides types and names; docs and other systems' notes do not."""

_PRIMITIVE = PRIMITIVES | {"array", "map"}


class Avro:
    """See `SchemaFormat`."""

    title = "Avro"
    takes_record_type = False

    def columns(self, schemas: HalfSchemas) -> Struct:
        """See `Format.columns`."""
        return versions(schemas).columns

    def decoder(self, schemas: HalfSchemas) -> AvroDecoder:
        """See `Format.decoder`."""
        return AvroDecoder(schemas)

    def check(self, text: str) -> None:
        """See `SchemaFormat.check`."""
        import fastavro

        try:
            fastavro.parse_schema(json.loads(text))
        except fastavro.schema.UnknownType as e:
            raise ValueError(f"there is no type {e}") from None
        except KeyError as e:
            raise ValueError(f"{e} is missing") from None
        except (fastavro.schema.SchemaParseException, TypeError) as e:
            raise ValueError(str(e)) from None

    def shape(self, schema: WriterSchema) -> Parts:
        """See `SchemaFormat.shape`: docs, notes and the way names are written make no difference."""
        return _avro(json.loads(schema.text), "", "")


class AvroDecoder:
    """Decodes Avro, each record with the schema it was written with."""

    def __init__(self, schemas: HalfSchemas) -> None:
        found = versions(schemas)
        self.columns, self.writers = found.columns, tuple(found.pairs)
        self._subject, self._newest, self._unreadable = schemas.subject, found.newest, found.unreadable
        self._wire = WireFormat(schemas.framed, schemas.writers[-1].schema_id)
        self._pairs = found.pairs
        self._texts = texts_of({i: writer for i, (writer, _) in found.pairs.items()}, schemas.framed)
        self._reasons = {i: AvroReasons(*pair, self.columns) for i, pair in found.pairs.items()}

    def decode(self, frame: DataFrame, half: Half) -> DataFrame:
        """See `Decoder.decode`."""
        from pyspark.sql import functions as F

        if self._texts is None:
            return self._decoded(frame, half)
        kept, texts = f"{half.data}_raw", self._texts

        def written(raw: Any) -> Any:
            return texts.written(raw)

        rewrite = arrow_function(written, "binary").asNondeterministic()  # else it may run twice
        frame = frame.withColumn(kept, F.col(half.raw)).withColumn(half.raw, rewrite(F.col(half.raw)))
        return self._decoded(frame, half).withColumn(half.raw, F.col(kept)).drop(kept)

    def _decoded(self, frame: DataFrame, half: Half) -> DataFrame:
        from pyspark.sql import functions as F

        check_limits(frame.sparkSession)
        whole, passing, groups = f"{half.data}_whole", [], self._groups(half)
        branches = []
        for number, (reader, decoded) in enumerate(groups):
            name = f"{half.data}_{number}"
            found, value = conversion(reader, self.columns, f"{name}.v"), first_of(decoded)
            if found:
                # In a column of its own, or what the conversion names often would be decoded as often.
                passing.append(name)
                frame, value = frame.withColumn(name, value), _converted(name, found.value, found.check)
            # Not a cast: what fails its check must not fail the landing.
            framed = value.try_cast(f"struct<v:{spark_type(self.columns)},t:binary>")
            branches.append((reduce(or_, (own for own, _ in decoded)), framed))
        chosen = branches[0][1] if len(branches) == 1 else first_of(branches)
        numbers = [(self._own(half, schema_id), F.lit(i)) for i, schema_id in enumerate(self._pairs)]
        text = utf8_check(self.columns, half.data) or "true"
        return (
            frame.withColumn(whole, chosen)
            .withColumn(half.data, F.col(f"{whole}.v"))
            .withColumn(half.ok, F.expr(f"coalesce({whole}.t = X'{SENTINEL}' AND {text}, false)"))
            .withColumn(half.writer, first_of(numbers))
            .drop(whole, *passing)
        )

    def _groups(self, half: Half) -> list[tuple[Any, list[tuple[Column, Column]]]]:
        """Schema ids grouped by reader: the records of one group are converted and checked together."""
        groups: dict[str, tuple[Any, list[tuple[Column, Column]]]] = {}
        for schema_id, pair in self._pairs.items():
            exact, reader = exact_pair(*pair)
            _, decoded = groups.setdefault(group_key(reader), (reader, []))
            decoded.append((self._own(half, schema_id), _decoded(self._wire.payload(half), exact, reader)))
        return list(groups.values())

    def arrow(self) -> ArrowDecoder:
        """See `Decoder.arrow`."""
        from frazil.formats.avro.arrow import recipe_of

        return recipe_of(self._pairs, self.columns, self._wire.framed)

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`; by fastavro."""
        try:
            schema_id, payload = self._wire.parts(raw)
        except WireError as e:
            return e.reason
        if why := self._unreadable.get(schema_id):
            return UNREADABLE, why
        if schema_id not in self._reasons:
            return "schema_id", f"schema id {schema_id} is not of subject {self._subject}"
        try:
            payload = self._texts.payload(schema_id, payload) if self._texts else payload
        except BadPayloadError as e:
            return "payload", f"the payload is damaged: {e}"
        code, why = self._reasons[schema_id].explain(payload)
        return code, f"{why}, by {self._newest}" if code == "value" else why

    def values(self, raw: bytes) -> Bare | None:
        """See `Decoder.values`."""
        try:
            schema_id, payload = self._wire.parts(raw)
            payload = self._texts.payload(schema_id, payload) if self._texts else payload
        except (WireError, BadPayloadError):
            return None
        return self._reasons[schema_id].values(payload) if schema_id in self._reasons else None

    def _own(self, half: Half, schema_id: int) -> Column:
        from pyspark.sql import functions as F

        return F.expr(self._wire.written_with(half, schema_id))


def _decoded(payload: str, writer: Any, reader: Any) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    return from_avro(
        F.expr(f"concat({payload}, X'{SENTINEL}')"),
        avro_text(_with_end(writer)),
        {"mode": "PERMISSIVE", "avroSchema": avro_text(_with_end(reader))},
    )


def _converted(decoded: str, value: str | None, check: str | None) -> Column:
    """The struct with its value converted; its end is null where the check fails."""
    from pyspark.sql import functions as F

    end = f"IF({check}, {decoded}.t, NULL)" if check else f"{decoded}.t"
    return F.expr(f"named_struct('v', {value or f'{decoded}.v'}, 't', {end})")


def _with_end(tree: Any) -> dict[str, Any]:
    end = {"type": "fixed", "name": "frazil.end", "size": len(SENTINEL) // 2}
    fields = [{"name": "v", "type": tree}, {"name": "t", "type": end}]
    return {"type": "record", "name": "frazil.framed", "fields": fields}


def _avro(schema: Any, path: str, namespace: str) -> Parts:
    if isinstance(schema, list):
        yield path, [_branch(branch, namespace) for branch in schema]
        for i, branch in enumerate(schema):
            yield from _avro(branch, f"{path}[{i}]", namespace)
    elif isinstance(schema, str):
        yield path, _full(schema, namespace)
    elif isinstance(schema["type"], dict | list):
        yield from _avro(schema["type"], path, namespace)
    else:
        yield from _node(schema, path, namespace)


def _branch(schema: Any, namespace: str) -> str:
    if isinstance(schema, dict):
        return _full(schema.get("name", str(schema["type"])), schema.get("namespace", namespace))
    return _full(schema, namespace)


def _node(schema: dict[str, Any], path: str, namespace: str) -> Parts:
    kind = schema["type"]
    if "name" in schema:
        name = _full(schema["name"], schema.get("namespace", namespace))
        namespace = name.rpartition(".")[0]
        yield path, f"{kind} {name}"
    else:
        yield path, _full(kind, namespace)
    yield from _shape(schema, path)
    for inner in ("items", "values"):
        if inner in schema:
            yield from _avro(schema[inner], f"{path}.{inner}", namespace)
    for place, field in enumerate(schema.get("fields", ())):
        at = member_path(path, field["name"])
        yield f"{at} (position)", place
        yield from _shape(field, at, " (field)")
        yield from _avro(field["type"], at, namespace)


def _shape(schema: dict[str, Any], path: str, kind: str = "") -> Parts:
    return ((f"{path} {key}{kind}", schema[key]) for key in _SHAPE if key in schema)


def _full(name: str, namespace: str) -> str:
    simple = "." in name or not namespace or name in _PRIMITIVE
    return name if simple else f"{namespace}.{name}"
