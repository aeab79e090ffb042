"""SQL for what `from_json` parsed: its type, words that checks share, and values without parts.

`from_json` rounds decimals, and reads 1e400 as infinity (reference/decode.md, section 4). So exact numbers
are parsed as variants, which know what they were; so are strings where they were parsed once already.
Other strings: `proofs`. No expression here ever throws: records that fail are computed, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from frazil.formats.json.nodes import Branches, Entries, Items, Members, Node, Pairs, Scalar
from frazil.formats.logical import Decimal, Fixed, Type
from frazil.formats.types import spark_type
from frazil.formats.zoned import moment
from frazil.quoting import literal, quoted

_PARSED = {
    "boolean": "boolean", "integer": "bigint", "float": "float", "double": "double",
    "number": "variant", "string": "string", "base64": "string", "base64_number": "string",
    "days": "bigint", "time_millis": "bigint", "millis": "bigint", "local_millis": "bigint",
    "local_micros": "bigint", "zoned": "string", "json": "string",
    "digits": "string", "base64_digits": "string",
}  # fmt: skip
_COUNTED = {
    "days": "date_from_unix_date(CAST({} AS int))",
    "time_millis": "{} * 1000L",
    "millis": "timestamp_millis({})",
    "local_millis": "CAST(timestamp_millis({}) AS timestamp_ntz)",
    "local_micros": "CAST(timestamp_micros({}) AS timestamp_ntz)",
}
"""Moments that are written as numbers, within their bounds."""

_INT = (-(2**31), 2**31 - 1)
_DIGITS = 15  # digits that a double holds exactly; a variant keeps no more of a number with an exponent
_LONG_EXPONENTIAL = r"[:,\[\s](-?[0-9.]{17,}[eE][+-]?[0-9]+)"
"""A number with more digits than that, which may have been rounded."""


def parsed_type(node: Node, exact: bool = False) -> str:
    """The type to parse into, in DDL; if `exact`, texts as variants, which know what they were."""
    match node:
        case Scalar():
            return _scalar_type(node, exact)
        case Items():
            return f"array<{parsed_type(node.element, exact)}>"
        case Entries():
            return f"map<string,{parsed_type(node.value, exact)}>"
        case Pairs():
            key, value = parsed_type(node.key, exact), parsed_type(node.value, exact)
            return f"array<struct<`key`:{key},`value`:{value}>>"
        case Members():
            return f"struct<{members_types(node, exact)}>"
        case Branches():
            return "variant"


def members_types(node: Members, exact: bool) -> str:
    """The members of such a struct."""
    return ",".join(f"{quoted(m.name)}:{parsed_type(m.node, exact)}" for m in node.members)


def _scalar_type(node: Scalar, exact: bool) -> str:
    if node.wire == "integer" and spark_type(node.type) == "int":
        return "int"
    found = _PARSED[node.wire]
    return "variant" if exact and found == "string" else found


def present(node: Node, x: str, exact: bool = False) -> str:
    """Whether there is a value that is not null."""
    variant = parsed_type(node, exact) == "variant"
    return f"{x} IS NOT NULL AND NOT is_variant_null({x})" if variant else f"{x} IS NOT NULL"


def unique(keys: str) -> str:
    """Whether no item of an array stands there twice."""
    return f"size({keys}) = size(array_distinct({keys}))"


def every(items: str, e: str, condition: str) -> str:
    """Whether a condition on `e` holds for all items of an array."""
    return "true" if condition == "true" else f"forall({items}, {e} -> {condition})"


def all_of(*conditions: str) -> str:
    """Whether all hold, one after the other."""
    return " AND ".join(f"({c})" for c in conditions if c != "true") or "true"


def let(given: str, name: str, result: str) -> str:
    """A result that uses a value more than once; SQL has no other way to name one within an expression."""
    return f"transform(array({given}), {name} -> {result})[0]"


def options_map(options: Mapping[str, str]) -> str:
    """Options of a function, as SQL."""
    return f"map({', '.join(f'{literal(k)}, {literal(v)}' for k, v in options.items())})"


def scalar_check(node: Scalar, x: str, text: str, in_union: bool) -> str:
    """Whether a parsed value other than null is one that the schema allows."""
    match node.wire:
        case "string" if in_union:
            return all_of(f"schema_of_variant({x}) = 'STRING'", _in(f"CAST({x} AS string)", node))
        case "float" | "double":
            return all_of(f"abs({x}) < {node.wire}('Infinity')", _in(x, node))
        case "number":
            return _exact(node, x, text, in_union)
        case "base64" if isinstance(node.type, Fixed):
            return f"length({_binary(x, in_union)}) = {node.type.length}"
        case "base64" | "base64_number" | "zoned":
            return f"{scalar_value(node, x, in_union)} IS NOT NULL"
        case _:
            return all_of(_inside(x, node), _in(x, node))


def _inside(x: str, node: Scalar) -> str:
    if node.bounds is None or (parsed_type(node) == "int" and node.bounds == _INT):
        return "true"
    return f"{x} BETWEEN {node.bounds[0]}L AND {node.bounds[1]}L"


def _in(x: str, node: Scalar) -> str:
    if node.allowed is None:
        return "true"
    return f"{x} IN ({', '.join(map(literal, node.allowed))})" if node.allowed else "false"


def _exact(node: Scalar, x: str, text: str, in_union: bool) -> str:
    """Whether a number fits its decimal without being rounded."""
    assert isinstance(node.type, Decimal)
    shown, kind, fits = f"CAST({x} AS string)", f"schema_of_variant({x})", scalar_value(node, x, in_union)
    digits = f"regexp_replace(regexp_replace({shown}, 'E.*$|[^0-9]', ''), '^0+|0+$', '')"
    double = all_of(
        f"length({digits}) <= {_DIGITS}", f"CAST({fits} AS double) = CAST({x} AS double)", _kept(x, text)
    )
    plain = f"{shown} RLIKE '^-?[0-9]+([.][0-9]{{0,{node.type.scale}}}0*)?$'"
    return all_of(
        f"{kind} = 'BIGINT' OR {kind} = 'DOUBLE' OR {kind} LIKE 'DECIMAL%'",
        f"{fits} IS NOT NULL",
        f"CASE WHEN {kind} = 'DOUBLE' THEN {double} ELSE {plain} END",
        _kept(x, text) if in_union else "true",
    )


def _kept(x: str, text: str) -> str:
    """Whether no number of the text, with an exponent and too many digits, was rounded to this one."""
    rounded = f"regexp_extract_all({text}, {literal(_LONG_EXPONENTIAL)}, 1)"
    return f"NOT exists({rounded}, n -> try_cast(n AS double) = CAST({x} AS double))"


def scalar_value(node: Scalar, x: str, in_union: bool) -> str:
    """The column's value, null where the parsed one can't be it."""
    if counted := _COUNTED.get(node.wire):
        low, high = node.bounds or (0, 0)
        return f"CASE WHEN {x} BETWEEN {low}L AND {high}L THEN {counted.format(x)} END"
    match node.wire:
        case "string":
            return f"CAST({x} AS string)" if in_union else x
        case "number":
            return f"try_cast(CAST({x} AS string) AS {spark_type(node.type)})"
        case "base64_number":
            return _unscaled(node.type, _binary(x, in_union))
        case "base64":
            return _binary(x, in_union)
        case "zoned":
            return moment(f"CAST({x} AS string)" if in_union else x)
        case _:
            return x


def _binary(x: str, in_union: bool) -> str:
    """The bytes of base64, null where it is none; Spark's own parser accepts control characters in it."""
    text, kind = (f"CAST({x} AS string)", f"schema_of_variant({x}) = 'STRING'") if in_union else (x, "true")
    valid = f"{text} RLIKE '^[A-Za-z0-9+/]*={{0,2}}$' AND length({text}) % 4 = 0"
    return f"CASE WHEN {all_of(kind, valid)} THEN unbase64({text}) END"


def _unscaled(kind: Type, x: str) -> str:
    """Connect's bytes of a decimal, read by Avro's decoder: both encode them alike."""
    assert isinstance(kind, Decimal)
    schema = f'{{"type":"bytes","logicalType":"decimal","precision":{kind.precision},"scale":{kind.scale}}}'
    framed = f"concat(unhex(lpad(hex(2 * length({x})), 2, '0')), {x})"
    decoded = f"from_avro({framed}, '{schema}', map('mode', 'PERMISSIVE'))"
    return f"CASE WHEN length({x}) BETWEEN 1 AND 16 THEN {decoded} END"
