"""SQL over what `from_json` parsed: its type, the checks that `from_json` does not make, and the columns.

`from_json` takes a number for a string, rounds decimals, reads 1e400 as infinity, and keeps a map's
repeated keys (reference/decode.md, section 4). So strings and exact numbers are parsed as variants, which
know what they were; integers as bigint, whatever is asked of them. No expression here ever throws: a
record that fails its checks is computed, too.
"""

from __future__ import annotations

from frazil.landing.decoders.json_union import union_check, union_value
from frazil.schemas.iceberg import spark_type
from frazil.schemas.json_nodes import Branches, Entries, Items, Members, Node, Pairs, Scalar, logical
from frazil.schemas.logical import Decimal, Field, Fixed, List, Map, Struct, Type

__all__ = ["check", "literal", "parsed_type", "present", "value"]

_PARSED = {
    "boolean": "boolean", "integer": "bigint", "float": "float", "double": "double",
    "number": "variant", "string": "variant", "base64": "binary", "base64_number": "binary",
    "days": "bigint", "time_millis": "bigint", "millis": "bigint", "local_millis": "bigint",
}  # fmt: skip
_DIGITS = 15
"""Digits that a double holds exactly; of a number with an exponent a variant knows no more."""


def parsed_type(node: Node) -> str:
    """The type that `from_json` parses into, in DDL."""
    match node:
        case Scalar():
            return _PARSED[node.wire]
        case Items():
            return f"array<{parsed_type(node.element)}>"
        case Entries():
            return f"map<string,{parsed_type(node.value)}>"
        case Pairs():
            return f"array<struct<`key`:{parsed_type(node.key)},`value`:{parsed_type(node.value)}>>"
        case Members():
            return f"struct<{','.join(f'`{m.name}`:{parsed_type(m.node)}' for m in node.members)}>"
        case Branches():
            return "variant"


def present(node: Node, x: str) -> str:
    """Whether there is a value, other than null."""
    variant = parsed_type(node) == "variant"
    return f"{x} IS NOT NULL AND NOT is_variant_null({x})" if variant else f"{x} IS NOT NULL"


def check(node: Node, x: str, depth: int = 0) -> str:
    """Whether a value is null, or of its type all through.

    Args:
        node: What the schema says of it.
        x: The parsed value, as SQL.
        depth: Lambdas around it.
    """
    found = _check(node, x, depth)
    return "true" if found == "true" else f"({x} IS NULL OR coalesce({found}, false))"


def _check(node: Node, x: str, depth: int) -> str:
    e = f"e{depth}"
    match node:
        case Scalar():
            return _scalar_check(node, x)
        case Items():
            return _all(x, e, _held(node.element, e, node.optional, depth + 1))
        case Entries():
            held = _held(node.value, e, node.optional, depth + 1)
            return _and(_unique(f"map_keys({x})"), _all(f"map_values({x})", e, held))
        case Pairs():
            key = _held(node.key, f"{e}.`key`", False, depth + 1)
            held = _held(node.value, f"{e}.`value`", node.optional, depth + 1)
            keys = f"transform({x}, {e} -> {value(node.key, f'{e}.`key`', None, depth + 1)})"
            return _and(_all(x, e, _and(f"{e} IS NOT NULL", key, held)), _unique(keys))
        case Members():
            return _and(*(_held(m.node, f"{x}.`{m.name}`", m.optional, depth) for m in node.members))
        case Branches():
            return union_check(node, x, depth)


def _held(node: Node, x: str, optional: bool, depth: int) -> str:
    return _and("true" if optional else present(node, x), check(node, x, depth))


def _scalar_check(node: Scalar, x: str) -> str:
    match node.wire:
        case "string":
            return _and(f"schema_of_variant({x}) IN ('STRING', 'VOID')", _in(f"CAST({x} AS string)", node))
        case "float" | "double":
            return _and(f"abs({x}) < {node.wire}('Infinity')", _in(x, node))
        case "number":
            return f"is_variant_null({x}) OR {_exact(node, x)}"
        case "base64_number":
            return f"{value(node, x, None)} IS NOT NULL"
        case "base64" if isinstance(node.type, Fixed):
            return f"length({x}) = {node.type.length}"
        case _:
            low, high = node.bounds or (None, None)
            return _and(
                "true"
                if low is None
                else f"{x} BETWEEN {low}L AND {high}L".replace(
                    "-9223372036854775808L", "-9223372036854775807L - 1L"
                ),
                _in(x, node),
            )


def _in(x: str, node: Scalar) -> str:
    if node.allowed is None:
        return "true"
    return f"{x} IN ({', '.join(map(literal, node.allowed))})" if node.allowed else "false"


def _exact(node: Scalar, x: str) -> str:
    """Whether a number fits its decimal without being rounded."""
    assert isinstance(node.type, Decimal)
    text, fits = f"CAST({x} AS string)", value(node, x, None)
    plain = f"{text} RLIKE '^-?[0-9]+([.][0-9]{{0,{node.type.scale}}}0*)?$'"
    digits = f"length(regexp_replace(regexp_replace({text}, 'E.*$|[^0-9]', ''), '^0+|0+$', '')) <= {_DIGITS}"
    double = f"{digits} AND CAST({fits} AS double) = CAST({x} AS double)"
    exact = f"CASE WHEN schema_of_variant({x}) = 'DOUBLE' THEN {double} ELSE {plain} END"
    return f"schema_of_variant({x}) RLIKE '^(BIGINT|DECIMAL.*|DOUBLE)$' AND {fits} IS NOT NULL AND {exact}"


def value(node: Node, x: str, target: Type | None, depth: int = 0) -> str:
    """The column's value, null where the parsed one can't be it.

    Args:
        node: What the writer's schema says of it.
        x: The parsed value, as SQL.
        target: The reader's type, which holds all that the writer's does; none: the writer's own.
        depth: Lambdas around it.
    """
    e = f"e{depth}"
    match node, target:
        case Scalar(), _:
            found = _scalar_value(node, x)
            return found if target in (None, node.type) else f"CAST({found} AS {spark_type(target)})"
        case Items(), List() | None:
            element = value(node.element, e, target and target.element, depth + 1)
            return x if element == e else f"transform({x}, {e} -> {element})"
        case Entries(), Map() | None:
            inner = value(node.value, e, target and target.value, depth + 1)
            return x if inner == e else f"transform_values({x}, (k{depth}, {e}) -> {inner})"
        case Pairs(), Map() | None:
            return _map(node, x, target, depth)
        case Members(), Struct() | None:
            return _struct(node, x, target, depth)
        case Branches(), Struct() | None:
            return union_value(node, x, target, depth)
        case _:
            raise TypeError(f"{target} does not hold {node}")


def _scalar_value(node: Scalar, x: str) -> str:
    low, high = node.bounds or (0, 0)
    inside = f"CASE WHEN {x} BETWEEN {low}L AND {high}L THEN"
    match node.wire:
        case "string":
            return f"CAST({x} AS string)"
        case "integer" if node.bounds and spark_type(node.type) == "int":
            return f"try_cast({x} AS int)"
        case "number":
            return f"try_cast(CAST({x} AS string) AS {spark_type(node.type)})"
        case "base64_number":
            return _unscaled(node.type, x)
        case "days":
            return f"{inside} date_from_unix_date(CAST({x} AS int)) END"
        case "time_millis":
            return f"{inside} {x} * 1000L END"
        case "millis":
            return f"{inside} timestamp_millis({x}) END"
        case "local_millis":
            return f"{inside} timestampadd(MILLISECOND, {x}, TIMESTAMP_NTZ '1970-01-01') END"
        case _:
            return x


def _unscaled(kind: Type, x: str) -> str:
    """Connect's bytes of a decimal, read by Avro's decoder, which knows the same ones."""
    assert isinstance(kind, Decimal)
    schema = f'{{"type":"bytes","logicalType":"decimal","precision":{kind.precision},"scale":{kind.scale}}}'
    framed = f"concat(unhex(lpad(hex(2 * length({x})), 2, '0')), {x})"
    decoded = f"from_avro({framed}, '{schema}', map('mode', 'PERMISSIVE'))"
    return f"CASE WHEN length({x}) BETWEEN 1 AND 16 THEN {decoded} END"


def _map(node: Pairs, x: str, target: Map | None, depth: int) -> str:
    e = f"e{depth}"
    key = value(node.key, f"{e}.`key`", target and target.key, depth + 1)
    inner = value(node.value, f"{e}.`value`", target and target.value, depth + 1)
    entries = f"map_from_entries(transform({x}, {e} -> struct({key}, {inner})))"
    return f"CASE WHEN {check(node, x, depth)} THEN {entries} END"


def _struct(node: Members, x: str, target: Struct | None, depth: int) -> str:
    wanted = target or logical(node)
    assert isinstance(wanted, Struct)
    parts = (f"{literal(f.name)}, {_member(node, x, f, depth)}" for f in wanted)
    return f"CASE WHEN {x} IS NOT NULL THEN named_struct({', '.join(parts)}) END"


def _member(node: Members, x: str, field: Field, depth: int) -> str:
    member = node.get(field.name)
    if member is None:
        return f"CAST(NULL AS {spark_type(field.type)})"
    return value(member.node, f"{x}.`{field.name}`", field.type, depth)


def _unique(keys: str) -> str:
    return f"size({keys}) = size(array_distinct({keys}))"


def _all(items: str, e: str, condition: str) -> str:
    return "true" if condition == "true" else f"forall({items}, {e} -> {condition})"


def _and(*conditions: str) -> str:
    return " AND ".join(f"({c})" for c in conditions if c != "true") or "true"


def literal(given: str | int | float | bool) -> str:
    """A constant, as SQL."""
    if isinstance(given, str):
        escaped = given.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return (
        str(given).lower()
        if isinstance(given, bool)
        else f"{given!r}"
        if isinstance(given, int)
        else f"double('{given!r}')"
    )
