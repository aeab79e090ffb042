"""Protobuf's messages as ptars reads them, shapes only; its arrays as columns, checked in bulk.

ptars cuts timestamps without a check, and reads a damaged map entry otherwise than google.protobuf
does. So well-known types lose their names and map entries their mark: they reach us as structs and
lists of structs, and this house's own rules make values of them.
"""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor, OneofDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from frazil.exact import value_of, values_of
from frazil.formats.protobuf import schema as pb
from frazil.formats.protobuf import well_known
from frazil.formats.types import arrow_type

_OWN = "frazil_shapes"  # stands before every package: no message keeps a name that ptars knows
_MICROS = 1_000_000


class Doubt(Exception):
    """This decoder can't be sure of what it read."""


def shapes_of(file: FileDescriptor) -> FileDescriptor:
    """The same messages on the wire, in package `frazil_shapes.<package>`."""
    pool = DescriptorPool()
    for needed in _in_order(file):
        copy = FileDescriptorProto()
        needed.CopyToProto(copy)
        pool.Add(_plain(copy))
    return pool.FindFileByName(file.name)


def _in_order(file: FileDescriptor) -> list[FileDescriptor]:
    ordered: dict[str, FileDescriptor] = {}
    for needed in file.dependencies:
        ordered |= {f.name: f for f in _in_order(needed)}
    return [*(f for n, f in ordered.items() if n != file.name), file]


def _plain(file: FileDescriptorProto) -> FileDescriptorProto:
    file.package = f"{_OWN}.{file.package}".rstrip(".")
    for unneeded in ("options", "extension", "service"):
        file.ClearField(unneeded)
    for message in file.message_type:
        _bare(message, proto3=file.syntax == "proto3")
    for enum in file.enum_type:
        enum.options.ClearField("features")
    return file


def _bare(message: DescriptorProto, proto3: bool) -> None:
    if message.options.map_entry and proto3:
        _with_presence(message)
    message.ClearField("options")
    message.ClearField("extension")
    for inner in message.nested_type:
        _bare(inner, proto3)
    for field in message.field:
        if field.type_name:
            field.type_name = f".{_OWN}{field.type_name}"


def _with_presence(entry: DescriptorProto) -> None:
    """Gives an entry's fields presence: all producers write their zeros, and so must we to compare."""
    for place, field in enumerate(entry.field):
        field.proto3_optional, field.oneof_index = True, place
        entry.oneof_decl.add(name=f"_{field.name}")


def columns_array(message: Descriptor, array: pa.StructArray) -> pa.StructArray:
    """The columns of messages that are there or null, by their fields as ptars reads `shapes_of` the file.

    Raises Doubt or pyarrow.ArrowInvalid where a value fits no column, or google.protobuf might read another.
    """
    parts = dict(zip([f.name for f in array.type], array.flatten(), strict=True))
    columns = {f.name: _field(f, parts[f.name], array.null_count) for f in pb.regular_fields(message)}
    for oneof in pb.oneofs(message):
        columns[oneof.name] = _oneof(oneof, parts)
    return _struct(columns, _missing(array))


def _missing(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def _struct(columns: dict[str, pa.Array], missing: pa.Array | None) -> pa.StructArray:
    return pa.StructArray.from_arrays(list(columns.values()), names=list(columns), mask=missing)


def _field(field: FieldDescriptor, array: pa.Array, absent: int) -> pa.Array:
    if pb.is_entry(field):
        return _map(field, array)
    if field.is_repeated:
        return _list(field, array)
    if field.is_required and array.null_count > absent:
        raise Doubt(f"{field.full_name} is missing")
    return _single(field, array)


def _oneof(oneof: OneofDescriptor, parts: dict[str, pa.Array]) -> pa.Array:
    members = {f.name: _single(f, parts[f.name]) for f in oneof.fields}
    counts = reduce(pc.add, (parts[name].is_valid().cast(pa.int32()) for name in members))
    if len(counts) and value_of(pc.max(counts)) > 1:
        raise Doubt(f"{oneof.full_name} has two members")
    return _struct(members, pc.equal(counts, 0))


def _list(field: FieldDescriptor, array: pa.ListArray) -> pa.ListArray:
    return pa.ListArray.from_arrays(array.offsets, _single(field, array.values), mask=_missing(array))


def _map(field: FieldDescriptor, array: pa.ListArray) -> pa.MapArray:
    key, item = field.message_type.fields
    keys, items = array.values.flatten()
    if keys.null_count or (items.null_count and field.message_type.GetOptions().map_entry):
        raise Doubt(f"{field.full_name} has an entry without key or value")
    _check_unique(array, keys, field)
    keys, items = _single(key, keys), _single(item, items)
    return pa.MapArray.from_arrays(array.offsets, keys, items, mask=_missing(array))


def _check_unique(array: pa.ListArray, keys: pa.Array, field: FieldDescriptor) -> None:
    if not len(keys):
        return
    pairs = pa.table({"row": pc.list_parent_indices(array), "key": keys})
    if pairs.group_by(["row", "key"]).aggregate([]).num_rows < len(keys):
        raise Doubt(f"{field.full_name} has a key twice")


def _single(field: FieldDescriptor, array: pa.Array) -> pa.Array:
    if field.message_type is not None:
        return _message(field, array)
    if field.enum_type is not None:
        return _enum(field, array)
    return array.cast(arrow_type(pb.scalar_type(field)))  # checked: 2^63 raises


def _enum(field: FieldDescriptor, array: pa.Array) -> pa.Array:
    enum = field.enum_type
    symbols = {v.number: enum.values_by_number[v.number].name for v in enum.values}  # the first of aliases
    places = pc.index_in(array, pa.array(list(symbols), pa.int32()))
    names = pa.array(list(symbols.values()), pa.string()).take(places)
    if names.null_count == array.null_count:
        return names
    if enum.is_closed:
        raise Doubt(f"{field.full_name} has a number that its enum has not")
    return pc.coalesce(names, array.cast(pa.string()))


def _message(field: FieldDescriptor, array: pa.StructArray) -> pa.Array:
    name = field.message_type.full_name
    if name in well_known.WRAPPERS:
        return _single(field.message_type.fields[0], array.flatten()[0])
    if name == well_known.TIMESTAMP:
        return _timestamps(*array.flatten()).cast(arrow_type(well_known.moment_type(field)))
    if name in well_known.KNOWN or name == well_known.DECIMAL:
        return _one_by_one(field, array)
    rows = columns_array(field.message_type, array)
    return rows.flatten()[0] if pb.payload_of(field) else rows


def _timestamps(seconds: pa.Array, nanos: pa.Array) -> pa.Array:
    for part, (least, most) in ((seconds, well_known.SECONDS), (nanos, well_known.NANOS)):
        seen = value_of(pc.min_max(part))
        if seen["min"] is not None and (seen["min"] < least or seen["max"] > most):
            raise Doubt("a Timestamp is out of range")
    return pc.add(pc.multiply(seconds, _MICROS), pc.divide(nanos, 1000))


def _one_by_one(field: FieldDescriptor, array: pa.StructArray) -> pa.Array:
    name = field.message_type.full_name
    rows = [v and tuple(v.values()) for v in values_of(array)]
    try:
        if name == well_known.DECIMAL:
            kind = well_known.decimal_of(field)
            assert kind is not None
            values = [v and well_known.decimal_value(kind, v[0], v[2]) for v in rows]
            return pa.array(values, arrow_type(kind))
        of_kind, value = well_known.KNOWN[name]
        return pa.array([v and value(*v) for v in rows], arrow_type(of_kind))
    except ValueError as e:
        raise Doubt(str(e)) from None
