"""What a user may say of any table, made of a topic or of other tables."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Annotated

from pydantic import AfterValidator, Field, field_validator

from frazil.spec.layout import SortTerm, Write, sort_term
from frazil.spec.upkeep import Upkeep
from frazil.spec.values import Duration, Part

__all__ = ["THROUGH", "AnyTable", "Owners"]

THROUGH: dict[str, str] = {"glue": "", "snowflake": "glue"}
"""The targets that can show a table, and through which other one each finds it; see `frazil.publishing`."""

_TRANSFORM = re.compile(
    r"(?P<plain>[\w$.-]+)"
    r"|(?P<time>year|month|day|hour|identity)\((?P<column>[\w$.-]+)\)"
    r"|(?P<sized>bucket|truncate)\((?P<size>\d+),\s*(?P<of>[\w$.-]+)\)"
)
_OWNER = re.compile(r"team:.+|[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,7}")  # Dagster's rule
_TAG_KEY = re.compile(r"([A-Za-z0-9_.-]{1,63}/)?[A-Za-z0-9_.-]{1,63}")
_TAG_VALUE = re.compile(r"[A-Za-z0-9_.-]{0,63}")


def _reachable(owners: tuple[str, ...]) -> tuple[str, ...]:
    for owner in owners:
        if not _OWNER.fullmatch(owner):
            raise ValueError(f"{owner!r}: write team:name, or an e-mail address")
    return owners


Owners = Annotated[tuple[str, ...], AfterValidator(_reachable)]
"""Who to ask: `team:name`, or e-mail addresses."""


class AnyTable(Part):
    """A table that Frazil fills, keeps in order and shows."""

    namespace: str | None = Field(None, description="Default: the name of the Kafka cluster.")
    table: str | None = Field(None, description="Default: the topic's name, made legal.")

    partition_by: tuple[str, ...] = Field(
        (), description="Iceberg transforms, such as day($$timestamp) or bucket(16, address.city)."
    )
    sort_by: tuple[str, ...] = Field(
        (), description="Order of rows in rewritten files, such as symbol, price desc, or zorder(a, b)."
    )
    write: Write = Field(default_factory=Write, description="How data files are written.")
    upkeep: Upkeep = Field(default_factory=Upkeep, description="When the table is put in order.")

    freshness: Duration | None = Field(
        None,
        description="How long records may wait: the check `freshness` fails later. A quiet topic is never "
        "late.",
    )
    publish: tuple[str, ...] = Field(
        ("glue", "snowflake"),
        description="Where the table is shown: glue, snowflake, both, or nowhere: [].",
        json_schema_extra={"items": {"enum": list(THROUGH)}},
    )

    description: str = Field("", description="For people, shown in the Dagster UI.")
    owners: Owners = Field((), description="`team:name` or an e-mail address.")
    tags: dict[str, str] = Field(default_factory=dict, description="Tags of the assets.")

    @field_validator("namespace", "table")
    @classmethod
    def _legal(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[a-z0-9_]{1,255}", value):
            raise ValueError(f"{value!r}: use lower-case letters, digits and _ (Glue takes no other)")
        return value

    @field_validator("tags")
    @classmethod
    def _taggable(cls, value: dict[str, str]) -> dict[str, str]:
        for key, text in value.items():
            if not (_TAG_KEY.fullmatch(key) and _TAG_VALUE.fullmatch(text)):
                raise ValueError(
                    f"{key}: {text!r}: at most 63 letters, digits, '_', '-' and '.' each "
                    "(Dagster takes no other)"
                )
        return value

    @field_validator("publish")
    @classmethod
    def _findable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for word in value:
            if word not in THROUGH:
                near = get_close_matches(word, THROUGH, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(THROUGH)}"
                raise ValueError(f"there is no target {word!r}; {hint}")
            through = THROUGH[word]
            if through and through not in value:
                raise ValueError(
                    f"{word.capitalize()} finds the table through {through.capitalize()}; "
                    f"write publish: [{through}, {word}]"
                )
        return value

    @field_validator("partition_by")
    @classmethod
    def _transforms(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            if not _TRANSFORM.fullmatch(text):
                raise ValueError(
                    f"{text!r} is no transform; write a column, year|month|day|hour(column), "
                    "bucket(n, column) or truncate(n, column); quote what holds a comma"
                )
        return value

    @field_validator("sort_by")
    @classmethod
    def _sortable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(terms := [sort_term(text) for text in value]) > 1 and any(t.zorder for t in terms):
            raise ValueError("zorder(...) stands alone: it is the whole order")
        return value

    @property
    def sort_terms(self) -> tuple[SortTerm, ...]:
        """`sort_by`, understood."""
        return tuple(map(sort_term, self.sort_by))

    @property
    def transforms(self) -> tuple[tuple[str, str], ...]:
        """`partition_by` as pairs of Iceberg's transform, such as `bucket[16]`, and column."""
        found = [m for m in map(_TRANSFORM.fullmatch, self.partition_by) if m]
        return tuple(
            (f"{m['sized']}[{m['size']}]", m["of"])
            if m["sized"]
            else (m["time"] or "identity", m["column"] or m["plain"])
            for m in found
        )
