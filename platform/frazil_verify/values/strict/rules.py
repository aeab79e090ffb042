"""The rules of a JSON Schema, as its specifications have them.

Sources: https://json-schema.org/draft/2020-12/json-schema-validation and, for older schemas,
https://json-schema.org/draft-07/json-schema-validation. What is not known here is refused, and never guessed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from frazil_verify.findings import UnverifiableError
from frazil_verify.values.strict.single import SINGLE, is_of, key_of, matching

Rule = Callable[[Any], bool]

_LATEST, _SEVENTH = "2020-12", "draft-07"
_NOTES = {
    "$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "examples",
    "deprecated", "readOnly", "writeOnly", "then", "else",
}  # fmt: skip
_OWN = ("connect.", "flink.", "confluent:", "x-")
"""How words begin that other programs put into schemas, and that are no rules."""


def rules_of(text: str) -> Rule:
    """Tells whether a value, as Python reads JSON, fits a schema.

    Raises:
        UnverifiableError: The schema has a rule that is not known here.
    """
    root = json.loads(text)
    dialect = str(root.get("$schema", _LATEST)) if isinstance(root, dict) else _LATEST
    if not any(known in dialect for known in (_LATEST, "2019-09", _SEVENTH, "draft-06")):
        raise _unknown(f"$schema {dialect}")
    return _Compiler(root, is_old="draft-0" in dialect).rule(root)


def _unknown(what: str) -> UnverifiableError:
    return UnverifiableError(f"validate: strict asks for {what}, which the verifier does not know")


@dataclass
class _Compiler:
    """Makes rules of the nodes of a schema."""

    root: Any
    is_old: bool
    _made: dict[str, Rule] = field(default_factory=dict)

    def rule(self, node: Any) -> Rule:
        """The rule of one node: all that it says together."""
        if isinstance(node, bool):
            return lambda _: node
        if not isinstance(node, dict):
            raise _unknown(f"a schema that is {type(node).__name__}")
        if self.is_old and "$ref" in node:
            return self._referred(node["$ref"])
        rules = [
            made for word, value in node.items() if (made := self._by_word(word, value, node)) is not None
        ]
        return lambda value: all(rule(value) for rule in rules) if len(rules) != 1 else rules[0](value)

    def _by_word(self, word: str, value: Any, node: Mapping[str, Any]) -> Rule | None:
        if word in _NOTES or word.startswith(_OWN) or (word == "format" and not self.is_old):
            return None
        if word in SINGLE:
            return SINGLE[word](value)
        made = _PARTS.get(word)
        if made is None:
            raise _unknown(f"the rule {word}")
        return made(self, value, node)

    def _referred(self, name: str) -> Rule:
        """The rule of another node; it may be within itself."""
        if not name.startswith("#") or (len(name) > 1 and name[1] != "/"):
            raise _unknown(f"a reference to {name}")
        if name not in self._made:
            self._made[name] = lambda value: self._made[name](value)
            self._made[name] = self.rule(_node_at(self.root, name))
        return lambda value: self._made[name](value)

    def ref(self, value: str, _: Any) -> Rule:
        """What another node says."""
        return self._referred(value)

    def all_of(self, value: Any, _: Any) -> Rule:
        """Each of several."""
        rules = [self.rule(each) for each in value]
        return lambda v: all(rule(v) for rule in rules)

    def any_of(self, value: Any, _: Any) -> Rule:
        """At least one of several."""
        rules = [self.rule(each) for each in value]
        return lambda v: any(rule(v) for rule in rules)

    def one_of(self, value: Any, _: Any) -> Rule:
        """One of several, and no other."""
        rules = [self.rule(each) for each in value]
        return lambda v: sum(rule(v) for rule in rules) == 1

    def not_(self, value: Any, _: Any) -> Rule:
        """What must not fit."""
        rule = self.rule(value)
        return lambda v: not rule(v)

    def if_(self, value: Any, node: Mapping[str, Any]) -> Rule:
        """Of what fits one thing, of the rest another."""
        condition = self.rule(value)
        then, other = (self.rule(node.get(word, True)) for word in ("then", "else"))
        return lambda v: then(v) if condition(v) else other(v)

    def properties(self, value: Any, _: Any) -> Rule:
        """Values by their names."""
        rules = {name: self.rule(each) for name, each in value.items()}
        return lambda v: not isinstance(v, dict) or all(rule(v[n]) for n, rule in rules.items() if n in v)

    def by_pattern(self, value: Any, _: Any) -> Rule:
        """Values by what is in their names."""
        rules = [(matching(name), self.rule(each)) for name, each in value.items()]
        return lambda v: (
            not isinstance(v, dict)
            or all(rule(each) for name, each in v.items() for fits, rule in rules if fits(name))
        )

    def others(self, value: Any, node: Mapping[str, Any]) -> Rule:
        """Values whose names nothing beside it speaks of."""
        rule, known = self.rule(value), node.get("properties", {})
        patterns = [matching(name) for name in node.get("patternProperties", {})]
        return lambda v: (
            not isinstance(v, dict)
            or all(
                rule(each)
                for n, each in v.items()
                if n not in known and not any(fits(n) for fits in patterns)
            )
        )

    def names(self, value: Any, _: Any) -> Rule:
        """The names themselves."""
        rule = self.rule(value)
        return lambda v: not isinstance(v, dict) or all(rule(name) for name in v)

    def items(self, value: Any, _: Any) -> Rule:
        """Each value of a list; by their places is another thing."""
        if isinstance(value, list):
            raise _unknown("items by their places")
        rule = self.rule(value)
        return lambda v: not isinstance(v, list) or all(rule(each) for each in v)

    def contains(self, value: Any, node: Mapping[str, Any]) -> Rule:
        """A value that a list must have."""
        if {"minContains", "maxContains"} & node.keys():
            raise _unknown("the rule minContains")
        rule = self.rule(value)
        return lambda v: not isinstance(v, list) or any(rule(each) for each in v)


def _node_at(root: Any, name: str) -> Any:
    node = root
    try:
        for step in name.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            node = node[int(step)] if isinstance(node, list) else node[step]
    except (KeyError, ValueError, IndexError, TypeError):
        raise _unknown(f"a reference to {name}") from None
    return node


def _required(_: _Compiler, value: Any, __: Any) -> Rule:
    names = frozenset(value)
    return lambda v: not isinstance(v, dict) or names <= v.keys()


def _dependent(_: _Compiler, value: Any, __: Any) -> Rule:
    return lambda v: (
        not isinstance(v, dict) or all({*names} <= v.keys() for name, names in value.items() if name in v)
    )


def _type(_: _Compiler, value: Any, __: Any) -> Rule:
    kinds = [value] if isinstance(value, str) else value
    return lambda v: any(is_of(kind, v) for kind in kinds)


def _enum(_: _Compiler, value: Any, __: Any) -> Rule:
    known = {key_of(each) for each in value}
    return lambda v: key_of(v) in known


def _const(compiler: _Compiler, value: Any, node: Any) -> Rule:
    return _enum(compiler, [value], node)


_PARTS: Mapping[str, Callable[[_Compiler, Any, Mapping[str, Any]], Rule]] = {
    "$ref": _Compiler.ref, "allOf": _Compiler.all_of, "anyOf": _Compiler.any_of, "oneOf": _Compiler.one_of,
    "not": _Compiler.not_, "if": _Compiler.if_, "properties": _Compiler.properties,
    "patternProperties": _Compiler.by_pattern, "additionalProperties": _Compiler.others,
    "propertyNames": _Compiler.names, "items": _Compiler.items, "contains": _Compiler.contains,
    "required": _required, "dependentRequired": _dependent, "type": _type, "enum": _enum, "const": _const,
}  # fmt: skip
