"""A batch of whole records, decoded by columns in Spark's workers. Imports little, for it is their start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from frazil.exact import flags_of
from frazil.formats.checks.batch import ArrowChecks, Judged, names_in
from frazil.formats.debezium.envelope_batch import ArrowEnvelope, Change
from frazil.formats.masks.batch import ArrowMasks
from frazil.formats.masks.where import ArrowWhere
from frazil.formats.protocol import MOST_PLACES, ArrowDecoder, DecodedBatch
from frazil.formats.wires.naming import NOTHING, Naming

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]


_AT_ONCE = 8 * MOST_PLACES
"""Values that records may become which are decoded at once: some 300 MB."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What became of each record of a batch: `ok` is a row, `bad` is none; neither is left out on purpose."""

    ok: Flags
    bad: Flags
    key: DecodedBatch
    value: DecodedBatch
    by_key: frozenset[str] = frozenset()  # columns that the key fills, whatever the value has
    left_out: frozenset[str] = frozenset()  # fields that become no column
    change: Change | None = None  # what the envelopes say, where values are some
    unwanted: Flags | None = None  # those that the spec's `where` leaves out; None where it has none
    judged: Judged | None = None  # what the spec's checks say; None where it has none
    metadata: Mapping[str, pa.Array] = field(default_factory=dict)  # the columns of which checks speak

    def without(self, unread: pa.BooleanArray) -> Verdicts:
        """The same, but that some records are bad whatever was decoded: a part of them was left out."""
        left_out = flags_of(unread)
        if not left_out.any():
            return self
        judged = self.judged.without(left_out) if self.judged else None
        return replace(self, ok=self.ok & ~left_out, bad=self.bad | left_out, judged=judged)

    @property
    def fault(self) -> pa.StringArray | None:
        """Why records are bad that were decoded; None where none can be, see `RecordDecoder.explain`."""
        import pyarrow.compute as pc

        of_checks, of_change = self.judged and self.judged.fault, self.change and self.change.fault
        if of_checks is None or of_change is None:
            return of_change if of_checks is None else of_checks
        return pc.coalesce(of_change, of_checks)

    def columns(self) -> dict[str, pa.Array]:
        """The good records' columns by name; another field that key and value share is the value's."""
        return self.columns_of(self.ok)

    def columns_of(self, chosen: Flags, names: frozenset[str] | None = None) -> dict[str, pa.Array]:
        """The same of some records, and of some columns alone; metadata columns only where they are named."""
        import pyarrow as pa

        key, value = (_columns(half, chosen, names) for half in (self.key, self.value))
        columns = {**key, **value, **{name: key[name] for name in self.by_key if name in key}}
        asked = {name: self.metadata[name] for name in names or () if name in self.metadata}
        known = {name: column for name, column in columns.items() if name not in self.left_out}
        return {name: column.filter(pa.array(chosen)) for name, column in asked.items()} | known


@dataclass(frozen=True, slots=True)
class ArrowRecords:
    """What decodes batches of whole records, and judges them.

    Args:
        null_value: Whether a null value is a row, and whether it is bad.
        others: Headers of records that belong to other tables.
        row_key: The columns that tell rows apart, and whether the key has each, or else the value.
        needs_key: Whether a record with a null value must have them, too.
        named: What names the schemas of keys and of values where the prefix does not.
        left_out: Fields that become no column.
        envelope: What values are, where they are not the rows themselves.
        width: Values that a record becomes by itself, whatever is in it: one in each column.
        masks: What is written of fields in the place of their values.
        where: Which records are rows, by what their fields hold before they are masked.
        checks: What must hold of rows, after that.
    """

    key: ArrowDecoder
    value: ArrowDecoder
    null_value: tuple[bool, bool]
    others: tuple[bytes, ...] = ()
    row_key: tuple[tuple[str, bool], ...] = ()
    needs_key: bool = False
    named: tuple[Naming, Naming] = (NOTHING, NOTHING)
    left_out: frozenset[str] = frozenset()
    envelope: ArrowEnvelope | None = None
    width: int = 0
    masks: ArrowMasks | None = None
    where: ArrowWhere | None = None
    checks: ArrowChecks | None = None

    def pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Records, some at a time: few bytes may become very many values."""
        import numpy as np
        import pyarrow.compute as pc

        room = np.full(len(batch), float(self.width))
        for half, decoder in (("raw_key", self.key), ("raw_value", self.value)):
            sizes = pc.binary_length(batch[half]).fill_null(0).to_numpy().astype(float)
            room += np.minimum(sizes * decoder.places_per_byte, MOST_PLACES + sizes)
        ends = np.flatnonzero(np.diff(np.cumsum(room) // _AT_ONCE)) + 1
        starts = [0, *ends.tolist()]
        for start, end in zip(starts, [*starts[1:], len(batch)], strict=True):
            yield batch.slice(start, end - start)

    @property
    def metadata_asked(self) -> Mapping[str, str]:
        """The metadata columns of which the checks speak: the table's names by word."""
        return self.checks.metadata if self.checks is not None else {}

    def decode(
        self, raw_key: pa.BinaryArray, raw_value: pa.BinaryArray, names: pa.ListArray, values: pa.ListArray,
        metadata: Mapping[str, pa.Array] | None = None,
    ) -> Verdicts:  # fmt: skip
        """Decodes both halves of a batch.

        Args:
            names: Of each record's headers.
            values: Of the same.
            metadata: The metadata columns of which the checks speak.
        """
        import numpy as np

        of_key, of_value = self.named
        raw_key = of_key.prefixed(raw_key, names, values)
        raw_value = of_value.prefixed(raw_value, names, values)
        key, value = self.key.decode(raw_key), self.value.decode(raw_value)
        change = None
        if self.envelope:
            key, value, change = self.envelope.unwrap(key, value)
        no_value, is_row, is_bad = flags_of(raw_value.is_null()), *self.null_value
        has_key = self._has_key(key, value) | (no_value & (not self.needs_key))
        if change:
            has_key |= change.truncates
        key_holds = (flags_of(raw_key.is_null()) | flags_of(key.ok)) & has_key
        value_ok, mine = flags_of(value.ok), self._mine(raw_value)
        holds = key_holds & np.where(no_value, is_row, value_ok)
        fails = ~key_holds | np.where(no_value, is_bad, ~value_ok)
        by_key = frozenset(name for name, of_key in self.row_key if of_key)
        unwanted = mine & holds & ~self.where.matches(key, value) if self.where else None
        rows = mine & holds if unwanted is None else mine & holds & ~unwanted
        key, value = self._masked(key), self._masked(value)
        verdicts = Verdicts(
            rows, mine & fails, key, value, by_key, self.left_out, change, unwanted, metadata=metadata or {}
        )
        ends = no_value & self.needs_key
        return self._checked(verdicts, ends | change.ends if change else ends)

    def _checked(self, verdicts: Verdicts, ends: Flags) -> Verdicts:
        """The verdicts with those of the checks; records that end rows are none."""
        if not self.checks:
            return verdicts
        rows = verdicts.ok & ~ends
        judged = self.checks.judged(verdicts.columns_of(rows, names_in(self.checks.of_rows)), rows)
        letters = flags_of(judged.fault.is_valid())
        return replace(verdicts, ok=verdicts.ok & ~letters, bad=verdicts.bad | letters, judged=judged)

    def _masked(self, half: DecodedBatch) -> DecodedBatch:
        return replace(half, data=self.masks.of(half.data)) if self.masks else half

    def _has_key(self, key: DecodedBatch, value: DecodedBatch) -> Flags:
        import numpy as np

        complete = np.ones(len(key.ok), bool)
        for name, of_key in self.row_key:
            half = key if of_key else value
            complete &= flags_of(half.ok) & flags_of(half.data.field(name).is_valid())
        return complete

    def _mine(self, raw_value: pa.BinaryArray) -> Flags:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self.others:
            return np.ones(len(raw_value), bool)
        heads = pc.binary_slice(raw_value, 0, 5)
        return ~flags_of(pc.is_in(heads, pa.array(self.others, pa.binary())))


def _columns(half: DecodedBatch, chosen: Flags, names: frozenset[str] | None = None) -> dict[str, pa.Array]:
    """Columns of the chosen records; null where a record has no such half."""
    import numpy as np
    import pyarrow as pa

    ok, rows = flags_of(half.ok), half.data
    if names is not None and not names.issuperset(f.name for f in rows.type):
        kept = {f.name: c for f, c in zip(rows.type, rows.flatten(), strict=True) if f.name in names}
        rows = pa.StructArray.from_arrays([*kept.values()], [*kept]) if kept else pa.array([], pa.struct([]))
    if not rows.type.num_fields:
        return {}
    if not (chosen & ok).all():
        places = np.flatnonzero(chosen)
        rows = rows.take(pa.array(places, mask=~ok[places]))
    return dict(zip((f.name for f in rows.type), rows.flatten(), strict=True))
