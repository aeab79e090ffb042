"""Why an Avro record is bad: by fastavro, which shares nothing with Spark; slow, for bad records."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterable
from decimal import Context
from decimal import Decimal as Number
from functools import cached_property
from typing import Any

from frazil.formats.avro.decoding.canonical import BadPayloadError
from frazil.formats.avro.decoding.defaults import default_payload
from frazil.formats.avro.decoding.reading import TooWideError, record_read, value_reader
from frazil.formats.avro.independent import columns_of_record
from frazil.formats.avro.schemas.exact import BOOLEAN, DATE, DAY, INT, exact_pair
from frazil.formats.avro.schemas.pairs import is_lossy, written
from frazil.formats.avro.schemas.parser import avro_text
from frazil.formats.bare import Bare
from frazil.formats.batches.zoned import ZONED, is_moment
from frazil.formats.logical import Decimal, List, Map, Struct, Type
from frazil.formats.paths import member_path
from frazil.formats.protocol import Reason


class AvroReasons:
    """Explains the bad records of one schema, by the trees of writer and reader, and the columns."""

    def __init__(self, writer: Any, reader: Any, columns: Struct) -> None:
        self._writer, self._reader, self._columns = writer, reader, columns

    @cached_property
    def _exact(self) -> Any:
        return exact_pair(self._writer, self._reader)[0]

    @cached_property
    def _parsed(self) -> Any:
        """The schema, parsed once: parsing takes longer than reading a record."""
        import fastavro

        return fastavro.parse_schema(json.loads(avro_text(self._exact, logical=False)))

    def explain(self, payload: bytes) -> Reason:
        """Why a payload, without header, is bad."""
        import fastavro

        stream = io.BytesIO(payload)
        try:
            value = fastavro.schemaless_reader(stream, self._parsed, None)
        except EOFError:
            return "truncated", "the payload ends early"
        except UnicodeDecodeError as e:
            return "utf8", f"a text is not UTF-8: {e.reason} at its byte {e.start}"
        except Exception as e:  # noqa: BLE001 - damaged bytes make it raise anything
            return "payload", f"the payload is damaged: {e!s:.200}"
        if rest := len(payload) - stream.tell():
            return "trailing_bytes", f"{rest} bytes follow the payload"
        if why := _fault(self._exact, self._reader, self._columns, value):
            return "value", why
        return _damage(self._writer, payload) or ("value", "a value does not fit its column")

    def values(self, payload: bytes) -> Bare | None:
        """The columns of a payload, without header; None where it is bad."""
        import fastavro

        stream = io.BytesIO(payload)
        try:
            value: Any = fastavro.schemaless_reader(stream, self._parsed, None, return_named_type=True)
        except Exception:  # noqa: BLE001 - damaged bytes make it raise anything
            return None
        reader = exact_pair(self._writer, self._reader)[1]
        whole = stream.tell() == len(payload)
        return columns_of_record(self._exact, reader, self._columns, value) if whole else None


def _damage(writer: Any, payload: bytes) -> Reason | None:
    """What fastavro takes: the low 64 bits of a longer number, or more values than memory is meant for."""
    try:
        record_read(value_reader(writer), payload)
    except BadPayloadError as e:
        return "too_wide" if isinstance(e, TooWideError) else "value", str(e)
    return None


def _fault(writer: Any, reader: Any, wanted: Type, value: Any, path: str = "") -> str | None:
    """The first value that does not fit its column; None if all fit."""
    if value is None:
        return None
    writer, reader = _only(writer), _only(reader)
    if writer is None or reader is None:
        return None  # a branch of many: which one it was, the value does not tell
    return next((f for f in _faults(writer, reader, wanted, value, path) if f), None)


def _faults(writer: Any, reader: Any, wanted: Type, value: Any, path: str) -> Iterable[str | None]:
    match wanted:
        case Struct() if writer["type"] == "record":
            return _of_record(writer, reader, wanted, value, path)
        case List() if writer["type"] == "array":
            inner = (writer["items"], reader["items"], wanted.element)
            return (_fault(*inner, v, f"{path}[{n}]") for n, v in enumerate(value))
        case Map() if writer["type"] == "map":
            inner = (writer["values"], reader["values"], wanted.value)
            return (_fault(*inner, v, f"{path}{{{k}}}") for k, v in value.items())
        case Map() if writer["type"] == "array":
            return _of_entries(writer["items"], reader["items"], wanted, value, path)
        case _:
            return (_scalar(writer, wanted, value, path),)


def _of_record(
    writer: Any, reader: Any, wanted: Struct, value: dict[str, Any], path: str
) -> Iterable[str | None]:
    for (field, source), column in zip(written(reader, writer), wanted, strict=True):
        where = member_path(path, column.name)
        if source:
            yield _fault(source["type"], field["type"], column.type, value[source["name"]], where)
        elif field.get("default") is not None:
            yield _of_default(field, column.type, where)


def _of_default(field: dict[str, Any], wanted: Type, path: str) -> str | None:
    """What is wrong with the default of a field that a record lacks."""
    import fastavro

    kind = exact_pair(field["type"], field["type"])[0]
    try:
        payload = io.BytesIO(default_payload(field["type"], field["default"]))
    except (ValueError, KeyError, struct.error, OverflowError) as e:
        return f"field {path} is not there, and its default is none: {e}"
    parsed = fastavro.parse_schema(json.loads(avro_text(kind, logical=False)))
    why = _fault(kind, field["type"], wanted, fastavro.schemaless_reader(payload, parsed, None), path)
    return f"by its default, {why}" if why else None


def _of_entries(
    writer: Any, reader: Any, wanted: Map, entries: list[dict[str, Any]], path: str
) -> Iterable[str | None]:
    types = [{f["name"]: f["type"] for f in node["fields"]} for node in (writer, reader)]
    for n, entry in enumerate(entries):
        if entry["key"] is None:
            yield f"field {path}[{n}] is an entry without a key"
        for part, kind in (("key", wanted.key), ("value", wanted.value)):
            yield _fault(types[0][part], types[1][part], kind, entry[part], f"{path}[{n}].{part}")


def _scalar(writer: dict[str, Any], wanted: Type, value: Any, path: str) -> str | None:
    logical = writer.get("logicalType", "")
    if writer == BOOLEAN and value not in (b"\0", b"\1"):
        return f"field {path}: byte {value[0]} is no boolean"
    if isinstance(wanted, Decimal) and logical == "decimal" and isinstance(value, bytes):
        return _decimal(writer["scale"], wanted, value, path)
    if logical in DAY and not 0 <= value <= DAY[logical]:
        return f"field {path}: {value} is no time of a day ({logical})"
    if logical == ZONED and not is_moment(str(value)):
        return f"field {path}: {value!r:.100} is no moment with a zone, as ISO 8601 writes it"
    if writer in (INT, DATE) and not -(2**31) <= value < 2**31:
        return f"field {path}: {value} is no int, which has 32 bits"
    kind = getattr(wanted, "kind", "")
    if is_lossy("int" if writer == INT else writer["type"], kind) and _rounded(value, kind) != value:
        return f"field {path}: {value} is no {kind} without loss"
    return None


def _rounded(value: int, kind: str) -> int:
    form = "f" if kind == "float" else "d"
    return int(struct.unpack(form, struct.pack(form, value))[0])


def _decimal(scale: int, wanted: Decimal, value: bytes, path: str) -> str | None:
    if not value:
        return f"field {path}: no bytes are no decimal"
    number = Number(int.from_bytes(value, signed=True)).scaleb(-scale, Context(prec=10_000))
    return None if wanted.holds(number) else f"field {path}: {number} does not fit {wanted}"


def _only(node: Any) -> Any:
    real = [b for b in node if b["type"] != "null"] if isinstance(node, list) else [node]
    return real[0] if len(real) == 1 else None
