"""What the parts of a spec share: how they are read, and how people write durations."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def _duration(value: Any) -> Any:
    if isinstance(value, str) and (m := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd])\s*", value)):
        return timedelta(seconds=float(m[1]) * _UNITS[m[2]])
    if isinstance(value, str):
        raise ValueError(f"{value!r} is no duration; write a number and s, m, h or d, such as 15m")
    return value


Duration = Annotated[timedelta, BeforeValidator(_duration)]
"""`30s`, `15m`, `2h`, `7d`, or a number of seconds."""


class Part(BaseModel):
    """A part of a spec: unknown keys are refused, nothing changes later."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """For editors: a text may stand anywhere, such as 15m, 128MiB, or {{ env('NAME') }}."""
        reference = handler(schema)
        properties = handler.resolve_ref_schema(reference)["properties"]
        for name, known in properties.items():
            about = {key: known.pop(key) for key in ("title", "description") if key in known}
            properties[name] = {**about, "anyOf": [known, {"type": "string"}]}
        return reference
