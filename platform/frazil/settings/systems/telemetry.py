"""What Frazil tells of its work: lines of a log, spans."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from frazil.settings.systems.system import OptionalUrl, SystemSettings


class LogSettings(SystemSettings):
    """`FRAZIL_LOG__...`."""

    format: Literal["text", "json"] = Field("text", description="`json`: one object per line, on stderr.")
    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="The lowest level of Frazil's own lines, with `json`."
    )


class TracingSettings(SystemSettings):
    """`FRAZIL_TRACING__...`."""

    endpoint: OptionalUrl = Field(
        None, description="Where spans go, by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces."
    )
