"""Versions of Avro schemas that count differently, and what must become of their records on every way."""

from __future__ import annotations

from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any

__all__ = [
    "FEWER",
    "GOOD",
    "MOMENT",
    "MORE",
    "NARROW",
    "NEW",
    "NOON",
    "NOON_MICROS",
    "OLD",
    "TRUSTED",
    "WIDE",
    "array",
    "as_row",
    "decimal",
    "fixed",
    "mistrusted",
    "old",
    "record",
    "unit",
]

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
NOON = time(12, 0, 0, 1000)
NOON_MICROS = 12 * 3600 * 1_000_000 + 1000


def record(name: str = "R", /, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields.items()]}


def unit(kind: str, logical: str) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical}


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {**unit("bytes", "decimal"), "precision": precision, "scale": scale}


def fixed(size: int) -> dict[str, Any]:
    return {"type": "fixed", "name": f"Fixed{size}", "size": size}


def array(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


OLD = record(
    at=unit("int", "time-millis"), moments=array(unit("long", "timestamp-millis")), d=decimal(12, 4),
    x="long", u=["string", "int"], c={"type": "enum", "name": "C", "symbols": ["GONE", "A"]},
)  # fmt: skip
NEW = record(
    at=unit("long", "time-micros"), moments=array(unit("long", "timestamp-micros")), d=decimal(6, 2),
    x="double", u=["null", "boolean", "int", "string"],
    c={"type": "enum", "name": "other.C", "symbols": ["A", "B"]},
)  # fmt: skip


def old(d: str = "1.23", x: int = 1, u: Any = "text") -> dict[str, Any]:
    return {"at": NOON, "moments": [MOMENT], "d": Decimal(d), "x": x, "u": u, "c": "GONE"}


def as_row(d: str, x: float, u: str | int | None = None, c: str = "GONE") -> dict[str, Any]:
    number, text = (u if isinstance(u, kind) else None for kind in (int, str))
    union = None if u is None else {"boolean": None, "int": number, "string": text}
    return {"at": NOON_MICROS, "moments": [MOMENT], "d": Decimal(d), "x": x, "u": union, "c": c}


FEWER = record(
    n="int", x="float", e="string", f="bytes", g=fixed(4), d=decimal(9, 2), gone="int",
    at=unit("int", "time-millis"), m={"type": "map", "values": "int"}, many=array("int"),
    later=["string", "null"],
    cents={**fixed(12), **unit("fixed", "decimal"), "name": "Cents", "precision": 18, "scale": 2},
)  # fmt: skip
MORE = record(
    n="long", x="double", e={"type": "enum", "name": "E", "symbols": ["A"]}, f={**fixed(3), "name": "F3"},
    g=fixed(2), d={**fixed(8), **unit("fixed", "decimal"), "name": "D", "precision": 12, "scale": 2},
    gone=["null", "int"], at=unit("long", "time-micros"),
    m=array(record("Pair", key="string", value="long"), logicalType="map"), many=array(["null", "long"]),
    cents={**fixed(12), **unit("fixed", "decimal"), "name": "Cents", "precision": 18, "scale": 2},
)  # fmt: skip
WIDE: dict[str, Any] = {
    "n": 2**40, "x": 0.1, "e": "A", "f": b"abc", "g": b"xy", "d": Decimal("1234567890.12"), "gone": None,
    "at": NOON, "m": [{"key": "k", "value": 2**40}], "many": [None, 2**40], "cents": Decimal("-0.05"),
}  # fmt: skip
NARROW: dict[str, Any] = {
    "n": 1, "x": 0.5, "e": "any", "f": b"", "g": b"wxyz", "d": Decimal("0.12"), "gone": 7, "at": NOON,
    "m": {"k": 1}, "many": [1], "later": "now", "cents": Decimal("9999999999999999.99"),
}  # fmt: skip


ENTRY = record("Entry", key=["null", "string"], value="int")
TRUSTED = record(
    text="string", texts=array("string"), by_text={"type": "map", "values": "int"},
    entries=array(ENTRY, logicalType="map"), flag="boolean", d=decimal(9, 2), at=unit("int", "time-millis"),
)  # fmt: skip
GOOD: dict[str, Any] = {
    "text": "AAAA", "texts": ["BBBB"], "by_text": {"CCCC": 1}, "entries": [{"key": "DDDD", "value": 1}],
    "flag": True, "d": Decimal("0.05"), "at": NOON,
}  # fmt: skip


def mistrusted(good: bytes) -> list[bytes]:
    """The good record with one value at a time that Java takes and that is none: four texts, then others."""
    texts = [good.replace(text, b"A\xff\xfeA") for text in (b"AAAA", b"BBBB", b"CCCC", b"DDDD")]
    wide = (2**64 + 5).to_bytes(9, "big")  # its low 64 bits are 0.05 again
    broken = {
        "boolean": good.replace(b"\x01\x02\x05", b"\x03\x02\x05"),
        "decimal": good.replace(b"\x01\x02\x05", b"\x01\x12" + wide),
        "time": good[:-4] + b"\xff\xff\xff\xff\x0f",
        "key": good.replace(b"\x02\x02\x08DDDD\x02\x00", b"\x02\x00\x02\x00"),
    }
    assert good not in broken.values()
    return [*texts, *broken.values()]
