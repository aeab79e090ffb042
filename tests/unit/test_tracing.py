"""Spans of a piece of work arrive at an OTLP receiver; without an endpoint nothing is even imported."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from frazil.errors import OffsetsLostError
from frazil.settings.systems.telemetry import TracingSettings
from frazil.telemetry.tracing import traced
from kit.logins.receivers import Receiver, web_receiver
from kit.runs.waiting import wait_for

TRADES = {"table": "local.trades", "topic": "trades"}


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")  # milliseconds, not five seconds
    with web_receiver(ExportTraceServiceRequest.FromString) as receiver:
        yield receiver


def spans(collector: Receiver) -> list[Any]:
    requests = [r for post in collector.posts for r in post.resource_spans]
    return [span for request in requests for scope in request.scope_spans for span in scope.spans]


def attributes(span: Any) -> dict[str, Any]:
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}


def test_each_step_is_a_span_below_that_of_the_work(collector: Receiver) -> None:
    heard: list[str] = []

    with traced(TracingSettings(endpoint=collector.url), "land", TRADES, heard.append) as trace:
        for step in ("evolved", "planned", "written", "audited", "published"):
            trace.step(step)
        trace.note({"records": 9, "snapshot_id": 7})

    wait_for(lambda: len(spans(collector)) == 6)
    *steps, work = spans(collector)
    assert [span.name for span in steps] == ["evolve", "plan", "write", "audit", "publish"]
    assert {span.parent_span_id for span in steps} == {work.span_id}
    assert all(one.end_time_unix_nano <= two.start_time_unix_nano for one, two in pairwise(steps))
    assert attributes(work) == {**TRADES, "records": 9, "snapshot_id": 7}
    assert attributes(steps[0]) == TRADES
    assert heard == ["evolved", "planned", "written", "audited", "published"]


def test_work_that_fails_is_a_span_with_its_error(collector: Receiver) -> None:
    lost = OffsetsLostError("Records are gone.")

    with (
        pytest.raises(OffsetsLostError),
        traced(TracingSettings(endpoint=collector.url), "land", TRADES, lambda _: None),
    ):
        raise lost

    wait_for(lambda: spans(collector))
    (work,) = spans(collector)
    assert work.status.code == work.status.STATUS_CODE_ERROR
    assert work.status.message == "OffsetsLostError: Records are gone."


def test_a_collector_that_is_down_costs_the_work_nothing() -> None:
    with traced(TracingSettings(endpoint="http://127.0.0.1:1"), "land", TRADES, lambda _: None) as trace:
        trace.step("planned")


def test_without_an_endpoint_steps_go_where_they_went() -> None:
    def on_step(_: str) -> None:
        """Is told of steps."""

    with traced(TracingSettings(), "land", TRADES, on_step) as trace:
        assert trace.step is on_step
