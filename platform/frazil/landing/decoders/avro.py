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
from typing import TYPE_CHECKING, Any

from frazil.landing.decoders.protocol import Half, Reason
from frazil.schemas.avro import avro_to_logical
from frazil.schemas.iceberg import spark_type
from frazil.schemas.logical import Struct
from frazil.schemas.pairs import can_read, reader_for
from frazil.schemas.registry import WriterSchema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["AvroDecoder"]

HEADER = 5
"""Bytes of the Confluent wire format before the payload: a zero and the schema id."""

SENTINEL = "a7f31c5be2986d40"
"""Any eight bytes, in hex: appended to the payload, they must come out at its end."""


class AvroDecoder:
    """Decodes Confluent-framed Avro.

    Args:
        writers: The subject's schemas, oldest first; the last one is the reader.
        subject: Named in errors.
    """

    def __init__(self, writers: Sequence[WriterSchema], subject: str) -> None:
        reader = writers[-1]
        self._reader = json.loads(reader.text)
        self._columns = avro_to_logical(reader.text, subject)
        # Newest first: a record passes one comparison per branch (11 ns) until its own.
        legal = [w for w in reversed(writers) if can_read(json.loads(w.text), self._reader)]
        self._texts = {w.schema_id: json.loads(w.text) for w in legal}

    @property
    def writers(self) -> tuple[int, ...]:
        """Schema ids that can be read, newest first."""
        return tuple(self._texts)

    @property
    def columns(self) -> Struct:
        """The newest schema as columns."""
        return self._columns

    def decode(self, frame: DataFrame, half: Half) -> DataFrame:
        """See `Decoder.decode`."""
        from pyspark.sql import functions as F

        branches = enumerate(self._texts.items())
        first, *rest = [(_header(half, i), self._branch(half, n, w)) for n, (i, w) in branches]
        whole = f"{half.data}_whole"
        decoded: Column = reduce(lambda c, b: c.when(*b), rest, F.when(*first))
        return (
            frame.withColumn(whole, decoded)
            .withColumn(half.data, F.col(f"{whole}.d.v"))
            .withColumn(half.ok, F.expr(f"coalesce({whole}.d.t = X'{SENTINEL}', false)"))
            .withColumn(half.writer, F.col(f"{whole}.w"))
            .drop(whole)
        )

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`; by fastavro."""
        if len(raw) < HEADER:
            return "too_short", f"{len(raw)} bytes are too short for the wire format"
        if raw[0]:
            return "magic_byte", f"the first byte is {raw[0]}, not 0"
        schema_id = int.from_bytes(raw[1:HEADER], "big")
        if schema_id not in self._texts:
            return "schema_id", f"schema id {schema_id} is not of this subject, or not readable"
        return self._payload(self._texts[schema_id], raw[HEADER:])

    def _payload(self, writer: Any, payload: bytes) -> Reason:
        import fastavro

        stream = io.BytesIO(payload)
        try:
            fastavro.schemaless_reader(stream, writer, None)
        except EOFError:
            return "truncated", "the payload ends early"
        except Exception as e:  # noqa: BLE001 - damaged bytes make it raise anything
            return "payload", f"the payload is damaged: {e!s:.200}"
        if rest := len(payload) - stream.tell():
            return "trailing_bytes", f"{rest} bytes follow the payload"
        return "value", "a value is outside its type"

    def _branch(self, half: Half, index: int, writer: Any) -> Column:
        from pyspark.sql import functions as F
        from pyspark.sql.avro.functions import from_avro

        decoded = from_avro(
            F.expr(f"concat(substring({half.raw}, {HEADER + 1}), X'{SENTINEL}')"),
            json.dumps(_with_end(writer)),
            {
                "mode": "PERMISSIVE",
                "avroSchema": json.dumps(_with_end(reader_for(writer, self._reader))),
            },
        )
        common = f"struct<v:{spark_type(self._columns)},t:binary>"
        return F.struct(decoded.cast(common).alias("d"), F.lit(index).alias("w"))


def _header(half: Half, schema_id: int) -> Column:
    from pyspark.sql import functions as F

    return F.expr(f"startswith({half.raw}, X'00{schema_id:08x}')")


def _with_end(schema: Any) -> dict[str, Any]:
    end = {"type": "fixed", "name": "frazil__end", "size": len(SENTINEL) // 2}
    fields = [{"name": "v", "type": schema}, {"name": "t", "type": end}]
    return {"type": "record", "name": "frazil__framed", "fields": fields}
