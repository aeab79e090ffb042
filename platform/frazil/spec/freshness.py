"""How fresh a table is to be: when it lands, and how old what a layer shows may be before its check warns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, ByteSize, Field, GetJsonSchemaHandler, field_validator, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from frazil.spec.values import Duration, Part

TABLE = "iceberg"
"""The layer that targets follow: the table itself."""


class Allowed(Part):
    """Seconds that a layer may be behind the one before it."""

    warn: Duration | None = Field(None, description="Later than this is a warning.")
    error: Duration | None = Field(None, description="Later than this is an error.")

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """For editors: the duration alone is that of the warning."""
        own = super().__get_pydantic_json_schema__(schema, handler)
        return {"anyOf": [own, {"type": "string"}, {"type": "number"}]}

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.warn is None and self.error is None:
            raise ValueError("write warn, error, or both")
        if self.warn and self.error and self.warn > self.error:
            raise ValueError("warn is later than error; it comes first")
        return self


def _as_warning(value: Any) -> Any:
    return value if isinstance(value, dict | Allowed) else {"warn": value}


FreshWithin = dict[str, Annotated[Allowed, BeforeValidator(_as_warning)]]
"""By layer: `{iceberg: 1m, glue: 2m, snowflake: {warn: 5m, error: 1h}}`."""


def refuse_others(limits: Iterable[str], publish: Iterable[str]) -> None:
    """Raises ValueError where a limit is of a layer that the table does not have."""
    layers = (TABLE, *publish)
    if unknown := [layer for layer in limits if layer not in layers]:
        raise ValueError(f"fresh_within: the table has no layer {unknown[0]!r}; it has {', '.join(layers)}")


class LandWhen(Part):
    """When a table is landed by itself: as soon as one of the three is reached."""

    records: int = Field(1_000_000, ge=1, description="Records waiting in the topic.")
    bytes: ByteSize = Field(ByteSize(128 * 2**20), description="Bytes waiting in the topic, estimated.")
    age: Duration = Field(
        timedelta(seconds=30),
        description="Time since the last landing; half of `freshness` if that is less.",
    )


_MONEY = re.compile(r"\s*(?P<amount>\d+(\.\d+)?)\s*(?P<currency>[A-Z]{3})\s*/\s*month\s*")


class Budget(Part):
    """What is asked of how often a table lands; Frazil chooses by it."""

    p95: Duration | None = Field(
        None, description="Within this time 95 % of the records are to be landed, but for the landing itself."
    )
    at_most: str | None = Field(
        None, description="What landings and compactions may cost: `20 USD/month`, by the list of prices."
    )

    @field_validator("at_most")
    @classmethod
    def _money(cls, value: str | None) -> str | None:
        if value is not None and not _MONEY.fullmatch(value):
            raise ValueError(f"{value!r} is no budget; write an amount for a month, such as 20 USD/month")
        return value

    @model_validator(mode="after")
    def _asks(self) -> Self:
        if self.p95 is None and self.at_most is None:
            raise ValueError("write p95, at_most, or both")
        return self

    @property
    def money(self) -> tuple[float, str] | None:
        """The amount for a month, and its currency."""
        written = _MONEY.fullmatch(self.at_most or "")
        return (float(written["amount"]), written["currency"]) if written else None


def without_auto(data: Any) -> Any:
    """A table as it is written, without `freshness: auto`, for which its budget stands.

    Raises:
        ValueError: It has no budget.
    """
    if not isinstance(data, Mapping) or data.get("freshness") != "auto":
        return data
    if not data.get("budget"):
        raise ValueError("freshness: auto needs a budget, such as {p95: 60s, at_most: 20 USD/month}")
    return {name: value for name, value in data.items() if name != "freshness"}


def check_pace(
    budget: Budget | None, freshness: timedelta | None, land_when: LandWhen, *, lands: bool
) -> None:
    """Raises ValueError where two fields say how often a table lands, or Frazil does not land it."""
    if budget is None:
        return
    if not lands:
        raise ValueError("budget is for tables that Frazil lands; mode: tableflow has none")
    if freshness is not None:
        raise ValueError("budget chooses the freshness: write freshness: auto in the place of a time")
    if "age" in land_when.model_fields_set:
        raise ValueError("land_when.age and budget both say how often the table lands; leave one of them out")
