"""Avro's (writer, reader) pairs: whether one can read the other, and by which reader exactly.

Both are trees of `parse_avro`. Stricter than Avro in one thing: what a number counts (days,
milliseconds, hundredths) is part of its type. Names of records, enums and fixeds never matter: the
reader takes the writer's, for Java compares some of them.
"""

from __future__ import annotations

from typing import Any

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
}  # fmt: skip
_DIGITS = 38  # of a decimal in Spark and in Iceberg


def misfit(writer: Any, reader: Any, path: str = "") -> str | None:
    """Where the reader does not fit the writer, and why; None where it reads all that may be in its records.

    An illegal pair does not raise in Spark: every record of that writer would become a bad row. A null
    for what became required is no misfit but a fault of single records.
    """
    if isinstance(writer, list):
        found = (misfit(b, reader, path) for b in _real(writer) or writer)
        return next((m for m in found if m), None)
    if isinstance(reader, list):
        branch = _branch_for(writer, reader)
        if branch is None:
            return _no(path, f"{_told(writer)} is no branch of its union")
        return misfit(writer, branch, path)
    if writer["type"] != reader["type"]:
        return _promotion(writer, reader, path)
    match reader["type"]:
        case "record":
            return _record(writer, reader, path)
        case "array":
            return misfit(writer["items"], reader["items"], f"{path}[]")
        case "map":
            return misfit(writer["values"], reader["values"], f"{path}{{}}")
        case _:
            return _scalar(writer, reader, path)


def reader_for(writer: Any, reader: Any) -> Any:
    """The reader, with the writer's own types wherever Spark would misread them.

    Spark lays the reader's logical type over the writer's number, so milliseconds would be read as
    microseconds. It rounds a long that is read as a double, and reads an int as a long without a look at
    its range. So values are read as they were written, then converted and checked.
    """
    if isinstance(reader, list):
        return [_branch(writer, b, reader) for b in reader]
    if isinstance(writer, list):
        fitting = [b for b in _real(writer) if not misfit(b, reader)]
        same = [b for b in fitting if b["type"] == reader["type"]]
        return reader_for((same or fitting)[0], reader) if fitting else reader
    match reader["type"]:
        case "record" if writer["type"] == "record":
            fields = [_field(f, writer) for f in reader["fields"]]
            return {**reader, "name": writer["name"], "fields": fields}
        case "array" if writer["type"] == "array":
            return {**reader, "items": reader_for(writer["items"], reader["items"])}
        case "map" if writer["type"] == "map":
            return {**reader, "values": reader_for(writer["values"], reader["values"])}
        case _:
            return _scalar_for(writer, reader)


def is_lossy(writer: str, reader: str) -> bool:
    """Whether a promotion between two plain types may round."""
    return (writer, reader) in (("int", "float"), ("long", "float"), ("long", "double"))


def written(field: dict[str, Any], writer: dict[str, Any]) -> dict[str, Any] | None:
    """The writer's field that a field of the reader is read from, by name or by alias."""
    by_name = {f["name"]: f for f in writer["fields"]}
    names = [field["name"], *field.get("aliases", ())]
    return next((by_name[n] for n in names if n in by_name), None)


def _record(writer: dict[str, Any], reader: dict[str, Any], path: str) -> str | None:
    for field in reader["fields"]:
        where = f"{path}.{field['name']}".lstrip(".")
        source = written(field, writer)
        if source is None and "default" not in field:
            return _no(where, "the older version has no such field, and the newest no default for it")
        if source is not None and (found := misfit(source["type"], field["type"], where)):
            return found
    return None


def _promotion(writer: dict[str, Any], reader: dict[str, Any], path: str) -> str | None:
    legal = reader["type"] in _PROMOTIONS.get(writer["type"], ())
    family = _family(reader)
    if legal and (family is None or (family == "time" == _family(writer))):
        return None
    return _no(path, f"{_told(writer)} can't be read as {_told(reader)}")


def _scalar(writer: dict[str, Any], reader: dict[str, Any], path: str) -> str | None:
    one, two = _family(writer), _family(reader)
    if one and two and one != two:
        return _no(path, f"{_told(writer)} can't be read as {_told(reader)}")
    if one == two == "decimal" and writer["precision"] > _DIGITS:
        return _no(path, f"a decimal of {writer['precision']} digits, where {_DIGITS} can be held")
    if reader["type"] == "fixed" and writer["size"] != reader["size"]:
        return _no(path, f"{writer['size']} bytes can't be read as {reader['size']}")
    return None


def _no(path: str, why: str) -> str:
    return f"field {path or '(root)'}: {why}"


def _scalar_for(writer: dict[str, Any], reader: dict[str, Any]) -> dict[str, Any]:
    family = _family(reader)
    if family and family == _family(writer):
        return writer
    if writer["type"] == "int" != reader["type"] or is_lossy(writer["type"], reader["type"]):
        return {"type": writer["type"]}
    if writer["type"] != reader["type"] or "name" not in reader:
        return reader
    if reader["type"] == "enum" and "default" not in reader:
        # A symbol that is gone was a good value once; the column is text and holds it.
        symbols = dict.fromkeys([*reader["symbols"], *writer["symbols"]])
        return {**reader, "name": writer["name"], "symbols": list(symbols)}
    return {**reader, "name": writer["name"]}


def _field(field: dict[str, Any], writer: dict[str, Any]) -> dict[str, Any]:
    source = written(field, writer)
    if source is None:
        return field
    kept = {k: v for k, v in field.items() if k != "default"}  # of another type now, perhaps
    return {**kept, "type": reader_for(source["type"], field["type"])}


def _branch(writer: Any, branch: dict[str, Any], union: list[Any]) -> Any:
    writers = writer if isinstance(writer, list) else [writer]
    found = [w for w in writers if _branch_for(w, union) is branch]
    same = [w for w in found if w["type"] == branch["type"]]
    return reader_for((same or found)[0], branch) if found else branch


def _branch_for(writer: dict[str, Any], union: list[Any]) -> dict[str, Any] | None:
    """The branch that takes what was written, as Java chooses it."""
    alike = [b for b in union if b["type"] == writer["type"]]
    named = [b for b in alike if b.get("name") == writer.get("name")]
    simple = [b for b in alike if _simple(b) == _simple(writer)]
    fitting = [b for b in [*simple, *alike] if not misfit(writer, b)]
    promoted = [b for b in union if b["type"] in _PROMOTIONS.get(writer["type"], ())]
    return next(iter([*named, *fitting, *(b for b in promoted if not misfit(writer, b))]), None)


def _real(union: list[Any]) -> list[Any]:
    return [b for b in union if b["type"] != "null"]


def _family(node: dict[str, Any]) -> str | None:
    return _FAMILIES.get(node.get("logicalType", ""))


def _simple(node: dict[str, Any]) -> str:
    return str(node.get("name", "")).rpartition(".")[2]


def _told(node: dict[str, Any]) -> str:
    logical = node.get("logicalType")
    return f"{node['type']} ({logical})" if logical else str(node["type"])
