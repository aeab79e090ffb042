"""OpenTelemetry's spans of a piece of work and its steps. Free where no endpoint is set."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from frazil.extras import require
from frazil.settings.systems.telemetry import TracingSettings

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

_SECONDS = 10  # that an export may take; it happens beside the work

_STEPS = {
    "evolved": "evolve", "planned": "plan", "written": "write", "audited": "audit",
    "kept": "keep", "published": "publish", "sent": "send", "committed": "commit", "noted": "note",
}  # fmt: skip
"""By the word for a step that is done."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What a piece of work tells: each step when it is done, and what came of the whole."""

    step: Callable[[str], None]
    note: Callable[[Mapping[str, str | int]], None]


@contextmanager
def traced(
    settings: TracingSettings, work: str, about: Mapping[str, str], on_step: Callable[[str], None]
) -> Iterator[Trace]:
    """A span of the work within this context; below it one of each step, from the end of the one before.

    Args:
        about: Attributes of all these spans.
        on_step: Is told of each step as well.
    """
    if not settings.endpoint:
        yield Trace(on_step, lambda _: None)
        return
    tracer = _tracer(settings.endpoint)
    with tracer.start_as_current_span(work, attributes=about) as span:
        begun = time.time_ns()

        def step(done: str) -> None:
            nonlocal begun
            tracer.start_span(_STEPS.get(done, done), attributes=about, start_time=begun).end()
            begun = time.time_ns()
            on_step(done)

        yield Trace(step, span.set_attributes)


@cache
def _tracer(endpoint: str) -> Tracer:
    """Sends spans in batches, and the last ones when the process ends."""
    require("tracing", "OpenTelemetry", "opentelemetry")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": "frazil"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint, timeout=_SECONDS)))
    return provider.get_tracer("frazil")
