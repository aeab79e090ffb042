"""What an independent decoder says of Protobuf's bytes: google.protobuf, and that values fit their columns.

What no column holds (a uint64 above 2^63-1, a Timestamp outside the years 1 to 9999) must be a dead
letter, and so must records of another message type.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from google.protobuf.internal.decoder import _DecodeVarint32  # type: ignore[attr-defined]
from google.protobuf.internal.wire_format import ZigZagDecode
from google.protobuf.message import DecodeError

from kit.formats.protobuf import message_class

__all__ = ["SCHEMA", "decode", "encode"]

SCHEMA = """
syntax = "proto3";
package oracle;
import "google/protobuf/duration.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";

message Journey {
  int64 n = 1;
  string note = 2;
  bool seen = 3;
  optional int32 maybe = 4;
  Colour colour = 5;
  bytes blob = 6;
  uint64 big = 7;
  sint32 delta = 8;
  fixed32 mark = 9;
  double price = 10;
  google.protobuf.Timestamp at = 11;
  google.protobuf.Duration took = 12;
  google.protobuf.StringValue alias = 13;
  repeated string tags = 14;
  repeated sint64 numbers = 15;
  map<string, int64> counts = 16;
  map<int32, Leg> by_number = 17;
  repeated Leg legs = 18;
  oneof any {
    int32 a_number = 19;
    string a_text = 20;
    Leg a_leg = 21;
  }
}
enum Colour { RED = 0; GREEN = 1; BLUE = 2; }
message Leg { int32 km = 1; string to = 2; repeated Colour colours = 3; }
"""
"""A message with something of everything."""

_MOST = 2**63
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def encode(n: int, schema_id: int) -> bytes:
    """Record number n in the Confluent wire format, its indexes in the short form."""
    journey = message_class(SCHEMA, "oracle.Journey")(
        n=n * 7919,
        note=f"číslo {n} 🚋",
        seen=n % 2 == 0,
        colour=n % 3,
        blob=bytes(range(n % 20)),
        big=n * 2**55,
        delta=-n,
        mark=n * 65537,
        price=n / 8,
        tags=[f"tag{k}" for k in range(n % 4)],
        numbers=[k * -n for k in range(n % 5)],
        counts={f"k{k}": k * n for k in range(n % 3)},
        legs=[_leg(n)] * (n % 3),
    )
    if n % 3 == 0:
        journey.maybe = n
    if n % 5:
        journey.at.FromMicroseconds(n * 10**12 + n)
        journey.took.FromMicroseconds(-n * 1001)
        journey.alias.value = f"alias {n % 2}"
    for k in range(n % 3):
        journey.by_number[k * n].to = f"to {k}"
    match n % 4:
        case 1:
            journey.a_number = n
        case 2:
            journey.a_text = f"text {n}"
        case 3:
            journey.a_leg.km = n
    return b"\0" + schema_id.to_bytes(4, "big") + b"\0" + bytes(journey.SerializeToString())


def decode(payload: bytes) -> dict[str, Any] | None:
    """The row's value columns as `to_pylist` gives them, maps as dicts; None where the bytes are bad.

    Args:
        payload: What follows magic byte and schema id: message indexes, then the message.
    """
    try:
        start = _after_indexes(payload)
        return _row(message_class(SCHEMA, "oracle.Journey").FromString(payload[start:]))
    except (ValueError, IndexError, OverflowError, DecodeError):
        return None


def _after_indexes(payload: bytes) -> int:
    """Where the message begins, if it is the file's first one."""
    count, at = _number(payload, 0)
    indexes = []
    for _ in range(count):
        index, at = _number(payload, at)
        indexes.append(index)
    if count < 0 or indexes not in ([], [0]):
        raise ValueError("another message")
    return at


def _number(payload: bytes, at: int) -> tuple[int, int]:
    number, at = _DecodeVarint32(payload, at)
    return ZigZagDecode(number), at


def _leg(n: int) -> dict[str, Any]:
    return {"km": n % 300, "to": f"město {n}", "colours": [k % 3 for k in range(n % 4)]}


def _row(message: Any) -> dict[str, Any]:
    chosen = message.WhichOneof("any")
    members = ("a_number", "a_text", "a_leg")
    any_of = {m: getattr(message, m) if m == chosen else None for m in members}
    if chosen == "a_leg":
        any_of["a_leg"] = _leg_row(message.a_leg)
    if message.big >= _MOST:
        raise ValueError("more than a bigint holds")
    return {
        "n": message.n,
        "note": message.note,
        "seen": message.seen,
        "maybe": message.maybe if message.HasField("maybe") else None,
        "colour": _colour(message.colour),
        "blob": message.blob,
        "big": message.big,
        "delta": message.delta,
        "mark": message.mark,
        "price": message.price,
        "at": _moment(message.at) if message.HasField("at") else None,
        "took": _micros(message.took) if message.HasField("took") else None,
        "alias": message.alias.value if message.HasField("alias") else None,
        "tags": list(message.tags),
        "numbers": list(message.numbers),
        "counts": dict(message.counts),
        "by_number": {number: _leg_row(message.by_number[number]) for number in message.by_number},
        "legs": [_leg_row(leg) for leg in message.legs],
        "any": any_of if chosen else None,
    }


def _leg_row(leg: Any) -> dict[str, Any]:
    return {"km": leg.km, "to": leg.to, "colours": [_colour(c) for c in leg.colours]}


def _colour(number: int) -> str:
    return ("RED", "GREEN", "BLUE")[number] if 0 <= number <= 2 else str(number)


def _moment(stamp: Any) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=stamp.ToMicroseconds())  # refuses what is out of range


def _micros(duration: Any) -> int:
    duration.ToJsonString()  # the one method that refuses what is out of range
    return int(duration.seconds * 10**6 + int(duration.nanos / 1000))
