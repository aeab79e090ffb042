"""Records of a frame of Spark, decoded: by columns, in tasks that Spark gives them to, as in a lane."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from frazil.exact import flags_of
from frazil.formats.batches.oversize import TOO_LARGE
from frazil.formats.checks.batch import ArrowChecks
from frazil.formats.columns.columns import CHANGE
from frazil.formats.protocol import KEY, VALUE, DecodedBatch, Half
from frazil.formats.record import BAD, CHECKED, FAULT, OK, UNWANTED, RecordDecoder
from frazil.formats.record_batch import ArrowRecords, Verdicts
from frazil.formats.types import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from frazil.landing.checking.tally import CheckTally

HEADERS = "headers"


def with_decoded(records: DataFrame, decoder: RecordDecoder) -> DataFrame:
    """Records with what their bytes are.

    Adds to each half `Half.data` (if it has columns, and null where the half is none or bad), `Half.ok` and
    `Half.writer`; what an envelope says as `CHANGE`; and `OK` and `BAD`, by headers and `TOO_LARGE` too where
    the frame has them. With checks `FAULT`, and in the last row of each task `CHECKED`. Spark decodes again
    what is read again, and pushes no filter below.

    Args:
        records: Have `raw_key` and `raw_value`.
    """
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StructType

    given, work = records.schema, Decoding(decoder.arrow(), version("frazil"))
    added = from_arrow_schema(_added(decoder))
    return records.mapInArrow(work.run, StructType([*given.fields, *added.fields]))


def _added(decoder: RecordDecoder) -> pa.Schema:
    import pyarrow as pa

    fields = []
    for half, columns in decoder.halves:
        fields += [(half.data, arrow_type(columns))] if columns.fields else []
        fields += [(half.ok, pa.bool_()), (half.writer, pa.int32())]
    if decoder.envelope:
        change_fields = [("op", pa.string()), ("time", pa.timestamp("us", "UTC")), ("lsn", pa.int64())]
        fields.append((CHANGE, pa.struct([*change_fields, ("fault", pa.string())])))
    checked = [(FAULT, pa.string()), (CHECKED, pa.string())] if decoder.checks else []
    return pa.schema([*fields, (OK, pa.bool_()), (BAD, pa.bool_()), (UNWANTED, pa.bool_()), *checked])


@dataclass(frozen=True, slots=True)
class Decoding:
    """What a task does with the records that it is given."""

    records: ArrowRecords
    version: str  # of Frazil

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Adds to each batch what `with_decoded` says; some records at a time."""
        from frazil.tables.writing.task import begin_task

        begin_task(self.version)
        pieces = (piece for batch in batches for piece in self.records.pieces(batch) if len(piece))
        if self.records.checks is None:
            yield from map(self._with_verdicts, pieces)
        else:
            yield from self._checked(pieces, self.records.checks)

    def _checked(self, pieces: Iterable[pa.RecordBatch], checks: ArrowChecks) -> Iterator[pa.RecordBatch]:
        """The same; the last row says what checks say of all."""
        from frazil.landing.checking.tally import CheckTally

        tally, waiting = CheckTally(checks), None
        for piece in pieces:
            if waiting is not None:
                yield waiting
            waiting = self._with_verdicts(piece, tally)
        if waiting is not None:
            yield _with_report(waiting, tally.report())

    def _with_verdicts(self, batch: pa.RecordBatch, tally: CheckTally | None = None) -> pa.RecordBatch:
        import pyarrow as pa

        names = set(batch.schema.names)
        kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
        headers = batch[HEADERS] if HEADERS in names else pa.nulls(len(batch), kind)
        keys, values = (_parts(headers, part) for part in ("key", "value"))
        raw, asked = (batch["raw_key"], batch["raw_value"]), self._metadata(batch)
        verdicts = self.records.decode(*raw, keys, values, asked)
        if TOO_LARGE in names:
            verdicts = verdicts.without(batch[TOO_LARGE].is_valid())
        if tally and {"partition", "offset"} <= names:
            tally.add(verdicts, batch["partition"], batch["offset"])
        added = dict(_columns(verdicts))
        return pa.RecordBatch.from_arrays(
            [*batch.columns, *added.values()], names=[*batch.schema.names, *added]
        )

    def _metadata(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The metadata columns of which checks speak."""
        from frazil.landing.lane.metadata import record_metadata

        return record_metadata(batch, self.records.metadata_asked)


def _parts(headers: pa.ListArray, part: str) -> pa.ListArray:
    """The names, or the values, of each record's headers."""
    import pyarrow as pa

    return pa.ListArray.from_arrays(headers.offsets, headers.values.field(part))


def _columns(verdicts: Verdicts) -> Iterator[tuple[str, pa.Array]]:
    """In the order of `_added`."""
    import pyarrow as pa

    for half, decoded in ((KEY, verdicts.key), (VALUE, verdicts.value)):
        yield from _of_half(half, decoded)
    if change := verdicts.change:
        columns = [change.op, change.time, change.lsn, change.fault]
        yield CHANGE, pa.StructArray.from_arrays(columns, names=["op", "time", "lsn", "fault"])
    yield OK, pa.array(verdicts.ok)
    yield BAD, pa.array(verdicts.bad)
    unwanted = verdicts.unwanted
    yield UNWANTED, pa.repeat(False, len(verdicts.ok)) if unwanted is None else pa.array(unwanted)
    if judged := verdicts.judged:
        yield FAULT, judged.fault
        yield CHECKED, pa.nulls(len(verdicts.ok), pa.string())


def _with_report(batch: pa.RecordBatch, report: str) -> pa.RecordBatch:
    import pyarrow as pa

    place = batch.schema.get_field_index(CHECKED)
    reports = pa.concat_arrays([pa.nulls(len(batch) - 1, pa.string()), pa.array([report])])
    return batch.set_column(place, CHECKED, reports)


def _of_half(half: Half, decoded: DecodedBatch) -> Iterator[tuple[str, pa.Array]]:
    if decoded.data.type.num_fields:
        yield half.data, _good(decoded)
    yield half.ok, decoded.ok
    yield half.writer, decoded.writer


def _good(decoded: DecodedBatch) -> pa.StructArray:
    """The rows; null where there is none."""
    import numpy as np
    import pyarrow as pa

    ok = flags_of(decoded.ok)
    return decoded.data if ok.all() else decoded.data.take(pa.array(np.arange(len(ok)), mask=~ok))
