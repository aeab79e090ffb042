"""How old what a layer shows may be before its check warns, and before that is an error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, model_validator
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
