"""What a registry keeps beside the text of a schema: rules, tags of fields, and parameters.

Source: Confluent's data contracts, `ruleSet` and `metadata` of a schema in the registry's API.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Confluent's client brings 0.2 s of libraries: only who talks to a registry imports it.
    from confluent_kafka.schema_registry import Schema

_OF_FIELDS, _OF_PAYLOADS = "ENCRYPT", "ENCRYPT_PAYLOAD"
_OF_READERS = ("READ", "WRITEREAD")
_SIGNS = re.compile(r"\*\*|\*|\?|[^*?]+")
_MEANINGS = {"**": ".*", "*": "[^.]*", "?": "[^.]"}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a schema, as the registry tells it."""

    name: str
    type: str
    mode: str
    tags: tuple[str, ...] = ()
    params: tuple[tuple[str, str], ...] = ()
    kind: str = ""  # CONDITION or TRANSFORM
    expr: str = ""
    doc: str = ""
    on_failure: str = ""  # what is done where a condition is false; of WRITEREAD perhaps two, by a comma

    @property
    def title(self) -> str:
        """Its name and type, for people."""
        return f"{self.name} ({self.type})"

    @property
    def encrypts(self) -> bool:
        """Whether clients encrypt fields by it."""
        return self.type == _OF_FIELDS

    @property
    def is_for_readers(self) -> bool:
        """Whether who reads a record shall follow it, too."""
        return self.mode in _OF_READERS

    @property
    def spares(self) -> bool:
        """Whether readers take a record all the same that fails it."""
        action = self.on_failure.split(",")[1] if self._is_of_two else self.on_failure
        return action.strip() == "NONE"

    @property
    def _is_of_two(self) -> bool:
        return self.mode == "WRITEREAD" and "," in self.on_failure


@dataclass(frozen=True, slots=True)
class Contract:
    """What a schema has beside its text; nothing, of most.

    Args:
        rules: Those that are not disabled, in the order in which a writer follows them.
        tags: Of fields, by patterns of their full names.
        params: Of all rules.
    """

    rules: tuple[Rule, ...] = ()
    tags: tuple[tuple[str, tuple[str, ...]], ...] = ()
    params: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def encrypting(self) -> tuple[Rule, ...]:
        """The rules by which fields are encrypted."""
        return tuple(rule for rule in self.rules if rule.encrypts)

    @property
    def sealing(self) -> tuple[Rule, ...]:
        """The rules by which whole payloads are encrypted."""
        return tuple(rule for rule in self.rules if rule.type == _OF_PAYLOADS)

    @property
    def for_readers(self) -> tuple[Rule, ...]:
        """The rules that readers shall follow, beside those that encrypt."""
        return tuple(r for r in self.rules if r.is_for_readers and r.type not in (_OF_FIELDS, _OF_PAYLOADS))

    def parameter(self, rule: Rule, name: str) -> str:
        """A parameter of a rule, or of all; empty where there is none."""
        return dict(rule.params).get(name) or dict(self.params).get(name) or ""

    def tags_of(self, name: str) -> frozenset[str]:
        """The tags that the registry gives to a field of this full name."""
        return frozenset(tag for pattern, tags in self.tags if _matches(pattern, name) for tag in tags)


NO_CONTRACT = Contract()


def contract_of(schema: Schema) -> Contract:
    """The registry's answer, frozen; raises TypeError where a part is of another type."""
    rule_set, metadata = schema.rule_set, schema.metadata
    if rule_set is None and metadata is None:
        return NO_CONTRACT
    listed = [] if rule_set is None else [*(rule_set.domain_rules or ()), *(rule_set.encoding_rules or ())]
    own_tags, own = (None, None) if metadata is None else (metadata.tags, metadata.properties)
    tags = {} if own_tags is None else own_tags.tags
    params = {} if own is None else own.properties
    return Contract(
        tuple(_rule(each) for each in listed if not each.disabled),
        tuple((str(pattern), _texts(of)) for pattern, of in tags.items()),
        _pairs(params),
    )


def _rule(rule: Any) -> Rule:
    params = rule.params.params if rule.params is not None else {}
    kind, mode = ("" if each is None else each.value for each in (rule.kind, rule.mode))
    texts = (str(each or "") for each in (rule.expr, rule.doc, rule.on_failure))
    return Rule(
        str(rule.name or ""),
        str(rule.type or ""),
        mode,
        _texts(rule.tags or ()),
        _pairs(params),
        kind,
        *texts,
    )


def _texts(values: Any) -> tuple[str, ...]:
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{values!r:.100} is no list of tags")
    return tuple(values)


def _pairs(values: Any) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), str(value)) for name, value in values.items())


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    parts = _SIGNS.findall(pattern.replace("**.*", "**"))
    return re.compile("".join(_MEANINGS.get(part) or re.escape(part) for part in parts))


def _matches(pattern: str, name: str) -> bool:
    """Confluent's patterns: `*` within a name between dots, `**` across them. See its `WildcardMatcher`."""
    return _pattern(pattern).fullmatch(name) is not None
