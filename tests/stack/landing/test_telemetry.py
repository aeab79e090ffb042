"""What a landing tells of itself: spans of its steps, a line of the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from frazil.clients import Clients
from frazil.landing.land import land
from kit.logins.receivers import Receiver, web_receiver
from kit.records.topics import Topic
from kit.runs.waiting import wait_for


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    with web_receiver(ExportTraceServiceRequest.FromString) as receiver:
        yield receiver


def spans(collector: Receiver) -> list[Any]:
    requests = [r for post in collector.posts for r in post.resource_spans]
    return [span for request in requests for scope in request.scope_spans for span in scope.spans]


def test_a_landing_tells_its_steps_and_what_it_brought(
    topic: Topic, collector: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    topic.trades(10)
    settings = topic.connections.settings.with_changes(tracing={"endpoint": collector.url})

    with caplog.at_level(logging.INFO, "frazil"):
        report = land(topic.spec, Clients(settings))

    wait_for(lambda: any(span.name == "land" for span in spans(collector)))
    *steps, work = spans(collector)
    assert [span.name for span in steps] == ["evolve", "plan", "write", "audit", "publish"]
    attributes = {a.key: a.value.int_value or a.value.string_value for a in work.attributes}
    brought = {"table": report.table, "topic": topic.name, "records": 10, "snapshot_id": report.snapshot_id}
    assert attributes == brought
    (line,) = [vars(record) for record in caplog.records if record.getMessage() == "landed"]
    assert {name: line[name] for name in brought} == brought
