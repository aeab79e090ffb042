"""Avro's (writer, reader) pairs: whether one can read the other, and by which reader exactly.

Both are trees of `parse_avro`. Stricter than Avro in one thing: what a number counts (days,
milliseconds, hundredths) is part of its type. Names of records, enums and fixeds never matter: the
reader takes the writer's, for Java compares some of them.
"""

from __future__ import annotations

from typing import Any

from frazil.formats.avro.schemas.logical import is_entries, scalar_column
from frazil.formats.batches.zoned import ZONED
from frazil.formats.logical import MAX_DIGITS, stored, wider
from frazil.formats.paths import member_path

_NULL, _TEXT = {"type": "null"}, {"type": "string"}
_PROMOTIONS = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
_FAMILIES = {
    "date": "date", "time-millis": "time", "time-micros": "time", "decimal": "decimal",
    "timestamp-millis": "timestamp", "timestamp-micros": "timestamp",
    "timestamp-nanos": "timestamp in nanoseconds", "local-timestamp-millis": "local timestamp",
    "local-timestamp-micros": "local timestamp", "local-timestamp-nanos": "local timestamp in nanoseconds",
    ZONED: "timestamp as text",
}  # fmt: skip


def misfit(writer: Any, reader: Any, path: str = "", room: bool = True) -> str | None:
    """Where the reader does not fit the writer, and why; None where it reads all that may be in its records.

    Of an illegal pair every record would be bad, for no reason of its own. What tables
    allow is legal, for the column has `room` for both. It has none where several branches become one type.
    """
    ones, others = real(writer), real(reader)
    if not ones or not others:
        return None if takes_null(reader) else _no(path, "null is no value of the newest type")
    taken = takers(ones, others)
    for one, taker in zip(ones, taken, strict=True):
        if taker is None:
            return _no(path, f"{_type_text(one)} is no branch of its union")
        alone = sum(other is taker for other in taken) == 1
        proven = len(others) > 1 and not _alike(one, taker)  # once more at every level would take for ever
        if not proven and (why := _misfit(one, taker, path, room and alone)):
            return why
    return None


def reader_for(writer: Any, reader: Any) -> Any:
    """The reader, with the writer's own types wherever these count otherwise, or the column is wider.

    A reader's logical type says nothing of the writer's number: milliseconds would be taken for microseconds,
    a long would be rounded to a double. So values are read as they were written, then converted and checked.
    """
    ones, others = real(writer), real(reader)
    taken = takers(ones, others)
    branches = [_branch(ones, taken, other) for other in others]
    if takes_null(writer) or takes_null(reader):
        return [_NULL, *branches]
    return branches if isinstance(reader, list) else branches[0]


def takes_null(node: Any) -> bool:
    """Whether null may stand there."""
    return len(real(node)) < len(_listed(node))


def real(node: Any) -> list[Any]:
    """The branches that hold values; a type that is no union is its only one."""
    return [b for b in _listed(node) if b["type"] != "null"]


def takers(ones: list[Any], others: list[Any]) -> list[Any]:
    """The branch of the reader's that takes each of the writer's; None where there is none."""
    return others * len(ones) if len(others) == 1 else [_taker(one, others) for one in ones]


def is_lossy(writer: str, reader: str) -> bool:
    """Whether a promotion between two plain types may round."""
    return (writer, reader) in (("int", "float"), ("long", "float"), ("long", "double"))


def written(reader: dict[str, Any], writer: dict[str, Any]) -> list[tuple[Any, Any | None]]:
    """A record's fields, each with the one of the writer's that it is read from.

    Source: Avro's specification, "Aliases": the reader's aliases rename the writer's fields.
    """
    today = _renames(reader, writer)
    by_name = {today.get(f["name"], f["name"]): f for f in writer["fields"]}
    return [(field, by_name.get(field["name"])) for field in reader["fields"]]


def _renames(reader: dict[str, Any], writer: dict[str, Any]) -> dict[str, str]:
    """What the reader calls fields of the writer's, where it says so by an alias.

    A name that another field of the writer's has, and keeps, is not given away.
    """
    own = {f["name"] for f in writer["fields"]}
    renames: dict[str, str] = {}
    for field in reader["fields"]:
        former = (alias for alias in field.get("aliases", ()) if alias in own and alias not in renames)
        if name := next(former, None):
            renames[name] = field["name"]
    while kept := [name for name, new in renames.items() if new in own and new not in renames]:
        for name in kept:
            del renames[name]
    return renames


def _misfit(writer: dict[str, Any], reader: dict[str, Any], path: str, room: bool) -> str | None:
    """As `misfit`, of two types that are no unions."""
    if room and _share_a_column(writer, reader):
        return None
    if ("json" in writer) is not ("json" in reader):
        return _no(path, "JSON text and what is none are no one column")
    one, other = _entry(writer), _entry(reader)
    if one and other:
        keys = misfit(one[0], other[0], f"{path}{{key}}", room=False)  # a table's keys never change
        return keys or misfit(one[1], other[1], f"{path}{{}}", room)
    if writer["type"] != reader["type"]:
        return _promotion(writer, reader, path)
    match reader["type"]:
        case "record":
            return _record(writer, reader, path, room)
        case "array":
            return misfit(writer["items"], reader["items"], f"{path}[]", room)
        case _:
            return _scalar(writer, reader, path)


def _share_a_column(writer: dict[str, Any], reader: dict[str, Any]) -> bool:
    """Whether a column holds values of both, by the rule by which tables take changes."""
    one, other = scalar_column(writer), scalar_column(reader)
    alike = ("json" in writer) is ("json" in reader)
    return bool(alike and one and other and wider(stored(one), stored(other)))


def _record(writer: dict[str, Any], reader: dict[str, Any], path: str, room: bool) -> str | None:
    for field, source in written(reader, writer):
        where = member_path(path, field["name"])
        if source is None and "default" not in field and not takes_null(field["type"]):
            return _no(where, "the older version has no such field, and the newest no default for it")
        if source is not None and (reason := misfit(source["type"], field["type"], where, room)):
            return reason
    return None


def _promotion(writer: dict[str, Any], reader: dict[str, Any], path: str) -> str | None:
    legal = reader["type"] in _PROMOTIONS.get(writer["type"], ())
    if legal and _family(reader) is None:
        return None
    return _no(path, f"{_type_text(writer)} can't be read as {_type_text(reader)}")


def _scalar(writer: dict[str, Any], reader: dict[str, Any], path: str) -> str | None:
    one, two = _family(writer), _family(reader)
    if one and two and one != two:
        return _no(path, f"{_type_text(writer)} can't be read as {_type_text(reader)}")
    if one == two == "decimal" and writer["scale"] > MAX_DIGITS:
        return _no(path, f"a decimal of scale {writer['scale']}, where {MAX_DIGITS} digits can be held")
    if reader["type"] == "fixed" and writer["size"] != reader["size"]:
        return _no(path, f"{writer['size']} bytes can't be read as {reader['size']}")
    return None


def _no(path: str, why: str) -> str:
    return f"field {path or '(root)'}: {why}"


def _shaped(writer: dict[str, Any], reader: dict[str, Any]) -> dict[str, Any]:
    """As `reader_for`, of two types that are no unions."""
    match reader["type"]:
        case kind if kind != writer["type"]:
            return _rewritten(writer, reader) or _scalar_for(writer, reader)
        case "record":
            fields = [_field(f, source) for f, source in written(reader, writer)]
            return {**reader, "name": writer["name"], "fields": fields}
        case "array":
            return {**reader, "items": reader_for(writer["items"], reader["items"])}
        case "map":
            return {**reader, "values": reader_for(writer["values"], reader["values"])}
        case "enum" if "default" in reader:
            return {**reader, "name": writer["name"]}
        case "enum":
            # A symbol that is gone was a good value once; the column is text and holds it.
            symbols = dict.fromkeys([*reader["symbols"], *writer["symbols"]])
            return {**reader, "name": writer["name"], "symbols": list(symbols)}
        case _:
            return _scalar_for(writer, reader)


def _rewritten(writer: dict[str, Any], reader: dict[str, Any]) -> dict[str, Any] | None:
    """A map that became entries or the reverse, as it was written; None of other types."""
    one, other = _entry(writer), _entry(reader)
    if one is None or other is None:
        return None
    value = reader_for(one[1], other[1])
    if writer["type"] == "map":
        return {**writer, "values": value}
    entry = writer["items"]
    fields = [{**f, "type": value if f["name"] == "value" else f["type"]} for f in entry["fields"]]
    return {**writer, "items": {**entry, "fields": fields}}


def _scalar_for(writer: dict[str, Any], reader: dict[str, Any]) -> dict[str, Any]:
    family = _family(reader)
    if _share_a_column(writer, reader) or (family and family == _family(writer)):
        return writer
    lossy = is_lossy(writer["type"], reader["type"])
    return {"type": writer["type"]} if writer["type"] == "int" != reader["type"] or lossy else reader


def _field(field: dict[str, Any], source: dict[str, Any] | None) -> dict[str, Any]:
    if source is not None:
        kept = {k: v for k, v in field.items() if k != "default"}  # of another type now, perhaps
        return {**kept, "type": reader_for(source["type"], field["type"])}
    if "default" in field:
        return field
    return {**field, "type": [_NULL, *real(field["type"])], "default": None}


def _entry(node: dict[str, Any]) -> tuple[Any, Any] | None:
    """The types of a map's keys and values, however it is written; None of what is no map."""
    if node["type"] == "map":
        return _TEXT, node["values"]
    if node["type"] != "array" or not is_entries(node):
        return None
    parts = {f["name"]: f["type"] for f in node["items"]["fields"]}
    return (parts["key"], parts["value"]) if parts.keys() == {"key", "value"} else None


def _branch(ones: list[Any], taken: list[Any], branch: dict[str, Any]) -> Any:
    readers = [one for one, taker in zip(ones, taken, strict=True) if taker is branch]
    same = [one for one in readers if one["type"] == branch["type"]]
    return _shaped((same or readers)[0], branch) if readers else branch


def _taker(writer: dict[str, Any], union: list[Any]) -> Any:
    """The branch that takes what was written, as Java chooses it: by name, else the first that fits."""
    same_type = [b for b in union if b["type"] == writer["type"]]
    named = [b for b in same_type if b.get("name") == writer.get("name")]
    alike = [b for b in same_type if _alike(writer, b)]
    if named or len(alike) == 1:
        return (named or alike)[0]
    promoted = [b for b in union if b["type"] in _PROMOTIONS.get(writer["type"], ())]
    return next((b for b in [*same_type, *promoted] if not misfit(writer, b, room=False)), None)


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two branches are of one type, and of one name but for the namespace."""
    simple = [str(node.get("name", "")).rpartition(".")[2] for node in (one, other)]
    return one["type"] == other["type"] and simple[0] == simple[1]


def _listed(node: Any) -> list[Any]:
    return node if isinstance(node, list) else [node]


def _family(node: dict[str, Any]) -> str | None:
    return _FAMILIES.get(node.get("logicalType", ""))


def _type_text(node: dict[str, Any]) -> str:
    logical = node.get("logicalType")
    return f"{node['type']} ({logical})" if logical else str(node["type"])
