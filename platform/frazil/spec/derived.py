"""What a user writes about one table that is made of other tables: DerivedSpec and its parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from frazil.spec.checks import refuse_underivable
from frazil.spec.table import AnyTable
from frazil.spec.values import Duration, Part

DerivedKind = Literal["rows", "totals", "windows", "latest", "full"]
"""How the rows of a table follow from those of its inputs."""

Parameter = bool | int | float | str
"""A value that a query names as `:name`."""

_ONLY = {"windows": ("window",), "latest": ("key", "latest_by")}
"""Fields that one kind needs, and no other takes."""


class Window(Part):
    """Windows of event time, and what becomes of rows that come when theirs is closed."""

    start: str = Field(description="The column with the time at which a row's window begins.")
    length: Duration = Field(description="Length of a window, such as 1m.")
    lateness: Duration = Field(
        timedelta(0), description="How long a window stays open after the newest window with rows began."
    )
    ahead: Duration = Field(
        timedelta(hours=1),
        description="How far ahead of the clock a window may begin. Rows of later windows are kept apart.",
    )
    late_rows: Literal["drop", "update", "dead_letter"] = Field(
        "update", description="Rows of a closed window are only counted, update it, or are kept apart."
    )


class Feed(Part):
    """A Kafka topic that gets every new row as an Avro record."""

    topic: str = Field(description="The topic, which is made if it is missing.", min_length=1, max_length=249)
    key: tuple[str, ...] = Field((), description="Columns of the record's key. Default: no key.")
    partitions: int | None = Field(None, ge=1, description="How many partitions a new topic has.")


class DerivedSpec(AnyTable):
    """One table made of others. Needed are `table`, and either `sql` or `python`."""

    table: str = Field(description="The table's name.")
    kind: DerivedKind = Field(
        "rows",
        description="rows: each new row by itself. totals: sums that are added to those in the table. "
        "windows: totals by event time. latest: the newest row of each key. full: all rows again.",
    )
    sql: Path | None = Field(None, description="A file with one SELECT, beside defs.yaml.")
    python: Path | None = Field(
        None,
        description="A file with a function `derive(inputs, parameters) -> DataFrame`, beside defs.yaml.",
    )
    inputs: tuple[str, ...] = Field(
        (), description="Tables that the function of `python` reads. A query names its own."
    )
    parameters: Mapping[str, Parameter] = Field(
        default_factory=dict, description="Values that the query names as :name."
    )
    key: tuple[str, ...] = Field((), description="latest: the columns of the key.")
    latest_by: tuple[str, ...] = Field(
        (), description="latest: columns that tell which row is newer; the first one counts most."
    )
    window: Window | None = Field(None, description="windows: column, length and late rows.")
    cumulative_by: tuple[str, ...] = Field(
        (), description="windows: totals go on from window to window, for each value of these columns."
    )
    feeds: Feed | None = Field(None, description="A Kafka topic that gets every new row. Only for kind rows.")

    @property
    def adds_late_rows(self) -> bool:
        """Whether the rows of each closed window are added, without exception."""
        return self.window is None or self.window.late_rows == "update"

    @field_validator("parameters")
    @classmethod
    def _nameable(cls, value: Mapping[str, Parameter]) -> Mapping[str, Parameter]:
        for name in value:
            if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
                raise ValueError(f"{name!r}: use lower-case letters, digits and _")
            if name == "now":
                raise ValueError("now: is Frazil's own, the time of the run")
        return value

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.sql is None) == (self.python is None):
            raise ValueError("write either sql or python")
        if bool(self.python) != bool(self.inputs):
            raise ValueError("inputs: name those of a python function; a query names its own")
        if self.write.delete == "vector":
            raise ValueError(
                "write.delete: vector is for tables of topics by key; derived ones rewrite files"
            )
        return self

    @model_validator(mode="after")
    def _fields_of_its_kind(self) -> Self:
        for kind, fields in _ONLY.items():
            for field in fields:
                if bool(getattr(self, field)) != (self.kind == kind):
                    needs = "needs" if self.kind == kind else "takes no"
                    raise ValueError(f"kind: {self.kind} {needs} {field}")
        if self.cumulative_by and self.kind != "windows":
            raise ValueError(f"kind: {self.kind} takes no cumulative_by")
        if self.feeds and self.kind != "rows":
            raise ValueError(f"kind: {self.kind} can't feed a topic: its rows change")
        if self.python and self.kind in ("totals", "windows"):
            raise ValueError(f"kind: {self.kind} needs sql, whose sums can be merged; a function's can't")
        refuse_underivable(self.checks, in_parts=self.kind in ("totals", "windows", "latest"))
        return self
