"""Proof that all of a text was read: `from_json` stops at the end of the first value and drops what follows.

So a key that no text can guess is set behind it, where it is found only if the text is exactly one value.
An object gets it as its last member, in the place of the closing brace: `{"i":1,"<random>":true}`. Any other
value is set between brackets, with the key behind them: `{"r":{"v":[5],"<random>":[]}}`; that costs more.
"""

from __future__ import annotations

from dataclasses import dataclass

from frazil.formats.json.nodes import Members, Node
from frazil.formats.json.sql import members_types, parsed_type
from frazil.quoting import literal

__all__ = ["Whole"]

_UP_TO_BRACE = literal(r"(?s)^(.*)[}][ \t\r\n]*$")


@dataclass(frozen=True, slots=True)
class Whole:
    """How a text is parsed as a whole.

    Args:
        end: The key that no text can guess.
        objects: Whether all texts should be objects of known keys.
    """

    end: str
    objects: bool

    @property
    def _corrupt(self) -> str:
        return f"c{self.end}"

    @property
    def options(self) -> dict[str, str]:
        """Options of `from_json`: what is no JSON is told, and taken for none."""
        return {
            "columnNameOfCorruptRecord": self._corrupt,
            "allowNonNumericNumbers": "false",
            "allowSingleQuotes": "false",
        }

    def text(self, payload: str) -> str:
        """What is parsed, as SQL.

        Args:
            payload: The column of bytes that is the text.
        """
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
        """The type to parse into, in DDL.

        Args:
            node: What the schema says of the value.
            exact: See `parsed_type`.
        """
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
