"""Proof that `from_json` read what stands there: all of the text, and strings where there is text.

It stops at the end of the first value and drops what follows. So a key that no text can guess is set behind
it, where it is found only if the text is exactly one value. An object gets it as its last member, in the
place of the closing brace: `{"i":1,"<random>":true}`. Any other value is set between brackets, with the key
behind them: `{"r":{"v":[5],"<random>":[]}}`; that costs more.

It takes any value for a string, as its JSON. Hardly a text looks like a number, `true`, `false`, an object
or an array; a record without such a text is proven by that. Only the others are parsed again, with variants
in the place of texts: these know what they were, and cost as much as all the rest of a record.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from frazil.formats.json.nodes import Entries, Items, Member, Members, Node, Pairs, Scalar
from frazil.formats.json.sql import let, members_types, options_map, parsed_type
from frazil.quoting import literal, quoted

_UP_TO_BRACE = literal(r"(?s)^(.*)[}][ \t\r\n]*$")
_WIRES = ("string", "base64", "base64_number")
_NUMBER = "0123456789.eE-+"
_LIKE_ANOTHER = re.compile(r"[0-9.eE+-]+|true|false|[{\[\"].*", re.DOTALL)
"""Quotes are of "Infinity", which Spark makes of 1e400."""


@dataclass(frozen=True, slots=True)
class Whole:
    """How a text is parsed as a whole: `end` is the key that no text can guess.

    `objects` says that all texts should be objects of known keys.
    """

    end: str
    objects: bool

    @property
    def _corrupt(self) -> str:
        return f"c{self.end}"

    @property
    def options(self) -> dict[str, str]:
        """Options of `from_json`: text that is no JSON is reported, and read as no value."""
        return {
            "columnNameOfCorruptRecord": self._corrupt,
            "allowNonNumericNumbers": "false",
            "allowSingleQuotes": "false",
        }

    def text(self, payload: str) -> str:
        """The text to parse, as SQL over the column of bytes."""
        if not self.objects:
            return f"""concat('{{"r":{{"v":[', CAST({payload} AS string), '],"{self.end}":[]}}}}')"""
        # All but white space and empty objects end and begin so; looking for more takes longer.
        usual = f"endswith({payload}, X'7D') AND contains({payload}, X'22')"
        before = f"CAST(substring({payload}, 1, octet_length({payload}) - 1) AS string)"
        body = f"regexp_extract(CAST({payload} AS string), {_UP_TO_BRACE}, 1)"
        comma = f"""CASE WHEN contains({body}, '"') THEN ',' ELSE '' END"""
        last = f'"{self.end}":true}}'
        return (
            f"CASE WHEN {usual} THEN concat({before}, ',{last}') ELSE concat({body}, {comma}, '{last}') END"
        )

    def type(self, node: Node, exact: bool = False) -> str:
        """The type to parse into, in DDL; `exact` as for `parsed_type`."""
        if isinstance(node, Members) and self.objects:
            return f"struct<{members_types(node, exact)},`{self.end}`:boolean,`{self._corrupt}`:string>"
        return f"struct<r:map<string,array<{parsed_type(node, exact)}>>,`{self._corrupt}`:string>"

    def value(self, parsed: str) -> str:
        """The value in what was parsed."""
        return parsed if self.objects else f"get({parsed}.r['v'], 0)"

    def proof(self, parsed: str) -> str:
        """Whether all of the text was read, and is JSON of those types."""
        if self.objects:
            return f"{parsed}.`{self._corrupt}` IS NULL AND {parsed}.`{self.end}`"
        one = f"size({parsed}.r) = 2 AND size({parsed}.r['v']) = 1"
        return f"{parsed}.`{self._corrupt}` IS NULL AND {one} AND map_contains_key({parsed}.r, '{self.end}')"


def all_strings(node: Node, whole: Whole, text: str, parsed: str) -> str:
    """Whether there was a string wherever a column of text has a value, as SQL.

    `text` is the column that was parsed, `parsed` the column of what came out.
    """
    texts = _texts(node)
    if texts is None:
        return "true"
    doubt = _any(texts, whole.value(parsed), _like_another)
    again = f"from_json({text}, {literal(whole.type(texts, exact=True))}, {options_map(whole.options)})"
    found = f"{whole.proof('p')} AND NOT coalesce({_any(texts, whole.value('p'), _other)}, false)"
    return f"CASE WHEN {doubt} THEN {let(again, 'p', found)} ELSE true END"


def _texts(node: Node) -> Node | None:
    """The part of the tree that is text which may look like something else; None without any."""
    match node:
        case Scalar():
            return node if node.wire in _WIRES and not _told_apart(node) else None
        case Items():
            return Items(element) if (element := _texts(node.element)) else None
        case Entries():
            return Entries(value) if (value := _texts(node.value)) else None
        case Pairs():
            return _texts(Items(Members((Member("key", node.key), Member("value", node.value)))))
        case Members():
            found = tuple(Member(m.name, inner) for m in node.members if (inner := _texts(m.node)))
            return Members(found) if found else None
    return None  # the branches of a union were variants anyway


def _told_apart(node: Scalar) -> bool:
    """Whether all allowed values look like strings and nothing else."""
    return node.allowed is not None and not any(_LIKE_ANOTHER.fullmatch(str(v)) for v in node.allowed)


def _any(node: Node, x: str, leaf: Callable[[str], str], depth: int = 0) -> str:
    """Whether anything is true of any of the texts."""
    e = f"t{depth}"
    match node:
        case Items():
            return f"exists({x}, {e} -> {_any(node.element, e, leaf, depth + 1)})"
        case Entries():
            return f"exists(map_values({x}), {e} -> {_any(node.value, e, leaf, depth + 1)})"
        case Members():
            members = ((m.node, f"{x}.{quoted(m.name)}") for m in node.members)
            return " OR ".join(f"({_any(inner, place, leaf, depth)})" for inner, place in members)
    return leaf(x)


def _like_another(x: str) -> str:
    """Whether a text could have been another value; most texts cost two comparisons."""
    number = f"({x} <> '' AND trim(LEADING '{_NUMBER}' FROM {x}) = '')"
    low = f"{x} < ':' AND ({number} OR startswith({x}, '\"'))"
    high = f"{x} >= '[' AND ({x} IN ('true', 'false') OR startswith({x}, '[') OR startswith({x}, '{{'))"
    return f"({low}) OR ({high})"


def _other(x: str) -> str:
    """Whether a variant is anything but a string, or null."""
    return f"schema_of_variant({x}) NOT IN ('STRING', 'VOID')"
