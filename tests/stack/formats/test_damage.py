"""Of thousands of damaged records each is a dead letter, or what an independent decoder reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from kit.drawn.damage import FRAME, damaged
from kit.formats import avro_oracle, json_oracle, protobuf_oracle
from kit.formats.formats import Source, same

MakeSource = Callable[..., Source]
Row = dict[str, Any]

FEW, MORE = 2_000, 10_000
GOOD = 50


@dataclass(frozen=True, slots=True)
class Oracle:
    """An independent decoder.

    Args:
        schema: What the good records were written with.
        encode: Record number n, with the wire format's header.
        decode: What follows magic byte and schema id as a row; None where it is bad.
        stricter: Reason codes of records that Frazil refuses and this decoder reads, and why.
    """

    schema: object
    encode: Callable[[int, int], bytes]
    decode: Callable[[bytes], Row | None]
    stricter: Mapping[str, str]

    def read(self, payload: bytes, schema_id: int) -> Row | None:
        """The row, None where the record is bad."""
        if payload[:FRAME] != b"\0" + schema_id.to_bytes(4, "big"):
            return None
        return self.decode(payload[FRAME:])


ORACLES = {
    "avro": Oracle(
        avro_oracle.SCHEMA,
        avro_oracle.encode,
        avro_oracle.decode,
        {"value": "fastavro takes any byte but 0 as true, wide decimals, and symbols counted from the end"},
    ),
    "json": Oracle(json_oracle.SCHEMA, json_oracle.encode, json_oracle.decode, json_oracle.STRICTER),
    "protobuf": Oracle(protobuf_oracle.SCHEMA, protobuf_oracle.encode, protobuf_oracle.decode, {}),
}


@pytest.mark.each_time("json-few")
@pytest.mark.parametrize("count", [FEW, MORE], ids=["few", "more"])
@pytest.mark.parametrize("name", ["avro", "protobuf", "json"])
def test_damaged_records_are_dead_letters_or_read_as_another_decoder_reads_them(
    source: MakeSource, name: str, count: int
) -> None:
    """None is lost, none stops the others, and no wrong value lands."""
    oracle = ORACLES[name]
    records = source(key_format="none", on_bad_record="dead_letter", metadata="full")
    schema_id = records.register(oracle.schema, kind=name.upper())
    payloads = damaged([oracle.encode(n, schema_id) for n in range(GOOD)], count, seed=4)
    records.produce(*((None, payload) for payload in payloads))

    records.land()

    rows = records.rows_in_numbers() if name == "json" else records.rows()
    letters = records.dead_letters()
    assert sorted([*(r["$$offset"] for r in rows), *(r["offset"] for r in letters)]) == list(range(count))
    assert all(r["$$raw-value"] == payloads[r["$$offset"]] for r in rows)
    assert all(r["reason"] and r["reason_code"] for r in letters)
    read = [oracle.read(payload, schema_id) for payload in payloads]
    assert wrong(rows, read) == []
    assert refused(letters, read, oracle.stricter) == {}


@dataclass(frozen=True, slots=True)
class Wrong:
    """A row that is not what the oracle reads."""

    payload: bytes
    row: Row
    expected: Row | None


def wrong(rows: Sequence[Row], read: Sequence[Row | None]) -> list[Wrong]:
    """Rows that hold anything else than what the oracle reads."""
    pairs = [(row, columns(row), read[row["$$offset"]]) for row in rows]
    return [Wrong(raw["$$raw-value"][FRAME:], row, want) for raw, row, want in pairs if not same(row, want)]


def refused(letters: Sequence[Row], read: Sequence[Row | None], stricter: Mapping[str, str]) -> Counter[str]:
    """Reasons of dead letters that the oracle reads, without those that are meant."""
    codes = [r["reason_code"] for r in letters if read[r["offset"]] is not None]
    return Counter(code for code in codes if code not in stricter)


def columns(row: Row) -> Row:
    return {name: value for name, value in row.items() if not name.startswith("$$")}
