"""What Frazil tells of its work: lines of a log, spans, lineage."""

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


class LineageSettings(SystemSettings):
    """`FRAZIL_LINEAGE__...`; where the events go is OpenLineage's own configuration."""

    send: bool = Field(
        False,
        description="Send OpenLineage events to where OPENLINEAGE__TRANSPORT__... or openlineage.yml says.",
    )
    namespace: str = Field("", description="Namespace of the jobs in these events. Default: FRAZIL_CLUSTER.")
    seconds: float = Field(10.0, gt=0, description="How long a batch of events may take.")
