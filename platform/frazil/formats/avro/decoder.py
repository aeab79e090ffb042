"""Avro in the JVM: one branch per schema id, a reader per id, and proof that all bytes were read.

`from_avro` alone takes trailing bytes, and lays the reader's logical type over the writer's number
(1.23 becomes 0.0123 when the scale grew). Hence the end sentinel and the reader per id; measured in
reference/decode.md, sections 2 and 3: the checks cost 10-13 %.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from frazil.errors import SchemaRefusedError
from frazil.formats.avro.exact import ExactPair, exact_pair, shape
from frazil.formats.avro.faults import fault
from frazil.formats.avro.pairs import misfit, reader_for
from frazil.formats.avro.parser import avro_text, parse_avro
from frazil.formats.avro.schema import avro_columns
from frazil.formats.avro.values import conversion, utf8_check
from frazil.formats.logical import Struct
from frazil.formats.protocol import Half, Reason, WriterSchema
from frazil.formats.spark import first_of, spark_type
from frazil.formats.wire import WireError, WireFormat

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["AvroDecoder"]

SENTINEL = "a7f31c5be2986d40"
"""Any eight bytes, in hex: appended to the payload, they must come out at its end."""


class AvroDecoder:
    """Decodes Avro, each record with the schema it was written with.

    Args:
        writers: The subject's schemas, oldest first; the last one is the reader.
        subject: Named in errors.
        half: Which half: its word names the column where the schema is no record.
        framed: Whether records have Confluent's header; else all are of the newest schema.

    Raises:
        SchemaRefusedError: The newest schema has something that no column can hold.
    """

    def __init__(
        self,
        writers: Sequence[WriterSchema],
        subject: str,
        half: Half,
        framed: bool = True,
    ) -> None:
        self._subject, self._half = subject, half
        self._newest = writers[-1]
        self._wire = WireFormat(framed, self._newest.schema_id)
        self._reader = self._parse(self._newest)
        self._columns = avro_columns(self._reader, subject)
        self._trees: dict[int, Any] = {}
        self._unreadable: dict[int, str] = {}
        self._parsed: dict[int, tuple[Any, Any]] = {}
        # Newest first: a record passes one comparison per branch (11 ns) until its own.
        for writer in reversed(writers if framed else writers[-1:]):
            self._take(writer)

    @property
    def writers(self) -> tuple[int, ...]:
        """Schema ids that can be read, newest first."""
        return tuple(self._trees)

    @property
    def columns(self) -> Struct:
        """The newest schema as columns."""
        return self._columns

    def decode(self, frame: DataFrame, half: Half) -> DataFrame:
        """See `Decoder.decode`."""
        from pyspark.sql import functions as F

        whole, passing, groups = f"{half.data}_whole", [], self._groups(half)
        branches = []
        for number, (reader, decoded) in enumerate(groups):
            name = f"{half.data}_{number}"
            found, value = conversion(reader, self._columns, f"{name}.v"), first_of(decoded)
            if found:
                # In a column of its own, or what the conversion names often would be decoded as often.
                passing.append(name)
                frame, value = frame.withColumn(name, value), _converted(name, found.value, found.check)
            # Not a cast: what fails its check must not fail the landing.
            framed = value.try_cast(f"struct<v:{spark_type(self._columns)},t:binary>")
            branches.append((reduce(or_, (own for own, _ in decoded)), framed))
        chosen = branches[0][1] if len(branches) == 1 else first_of(branches)
        numbers = [(self._own(half, schema_id), F.lit(i)) for i, schema_id in enumerate(self._trees)]
        text = utf8_check(self._columns, half.data) or "true"
        return (
            frame.withColumn(whole, chosen)
            .withColumn(half.data, F.col(f"{whole}.v"))
            .withColumn(half.ok, F.expr(f"coalesce({whole}.t = X'{SENTINEL}' AND {text}, false)"))
            .withColumn(half.writer, first_of(numbers))
            .drop(whole, *passing)
        )

    def _groups(self, half: Half) -> list[tuple[Any, list[tuple[Column, Column]]]]:
        """Readers, each with those ids whose records it makes the same of: converted and checked together."""
        groups: dict[str, tuple[Any, list[tuple[Column, Column]]]] = {}
        for schema_id, writer in self._trees.items():
            pair = exact_pair(writer, reader_for(writer, self._reader))
            _, decoded = groups.setdefault(shape(pair.reader), (pair.reader, []))
            decoded.append((self._own(half, schema_id), _decoded(self._wire.payload(half), pair)))
        return list(groups.values())

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`; by fastavro."""
        try:
            schema_id, payload = self._wire.parts(raw)
        except WireError as e:
            return e.reason
        if why := self._unreadable.get(schema_id):
            return "unreadable_schema", why
        if schema_id not in self._trees:
            return "schema_id", f"schema id {schema_id} is not of subject {self._subject}"
        return self._explain(schema_id, payload)

    def _explain(self, schema_id: int, payload: bytes) -> Reason:
        import fastavro

        exact, schema = self._parsed_by_fastavro(schema_id)
        stream = io.BytesIO(payload)
        try:
            value = fastavro.schemaless_reader(stream, schema, None)
        except EOFError:
            return "truncated", "the payload ends early"
        except UnicodeDecodeError as e:
            return "utf8", f"a text is not UTF-8: {e.reason} at its byte {e.start}"
        except Exception as e:  # noqa: BLE001 - damaged bytes make it raise anything
            return "payload", f"the payload is damaged: {e!s:.200}"
        if rest := len(payload) - stream.tell():
            return "trailing_bytes", f"{rest} bytes follow the payload"
        found = fault(exact, self._reader, self._columns, value)
        version = f"by version {self._newest.version} of subject {self._subject}"
        return "value", f"{found or 'a value does not fit its column'}, {version}"

    def _parsed_by_fastavro(self, schema_id: int) -> tuple[Any, Any]:
        """The writer's tree and what fastavro makes of it, made once: that takes longer than a record."""
        import fastavro

        if schema_id not in self._parsed:
            tree = self._trees[schema_id]
            exact = exact_pair(tree, reader_for(tree, self._reader)).writer
            parsed = fastavro.parse_schema(json.loads(avro_text(exact, logical=False)))
            self._parsed[schema_id] = (exact, parsed)
        return self._parsed[schema_id]

    def _take(self, writer: WriterSchema) -> None:
        """Sorts a version in: with the readable ones, or with the reason why it is none."""
        try:
            tree = self._parse(writer)
            why = str(misfit(tree, self._reader) or "")
        except SchemaRefusedError as e:
            tree, why = None, f"{e.what} {e.where}"
        if why:
            newest = f"version {self._newest.version} of subject {self._subject}"
            why = f"schema id {writer.schema_id} (version {writer.version}) can't be read by {newest}: {why}"
            self._unreadable[writer.schema_id] = why
        else:
            self._trees[writer.schema_id] = tree

    def _parse(self, writer: WriterSchema) -> dict[str, Any]:
        return parse_avro(writer.text, self._subject, writer.dependencies, self._half.word)

    def _own(self, half: Half, schema_id: int) -> Column:
        from pyspark.sql import functions as F

        return F.expr(self._wire.written_with(half, schema_id))


def _decoded(payload: str, pair: ExactPair) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    return from_avro(
        F.expr(f"concat({payload}, X'{SENTINEL}')"),
        avro_text(_with_end(pair.writer)),
        {"mode": "PERMISSIVE", "avroSchema": avro_text(_with_end(pair.reader))},
    )


def _converted(decoded: str, value: str | None, check: str | None) -> Column:
    """The struct again, its value converted; without its end where the check fails."""
    from pyspark.sql import functions as F

    end = f"IF({check}, {decoded}.t, NULL)" if check else f"{decoded}.t"
    return F.expr(f"named_struct('v', {value or f'{decoded}.v'}, 't', {end})")


def _with_end(tree: Any) -> dict[str, Any]:
    end = {"type": "fixed", "name": "frazil.end", "size": len(SENTINEL) // 2}
    fields = [{"name": "v", "type": tree}, {"name": "t", "type": end}]
    return {"type": "record", "name": "frazil.framed", "fields": fields}
