"""Alarms of the real graph: one for a table that stops, though a run fails and a check with it."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest

from frazil.landing.halts.resume import resume
from kit.graph.graphs import MakeGraph
from kit.logins.receivers import Receiver, web_receiver


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with web_receiver() as receiver:
        monkeypatch.setenv("FRAZIL_ALARMS__WEBHOOK", receiver.url)
        yield receiver


def test_a_table_that_stops_is_one_alarm_and_another_when_it_goes_on(
    make_graph: MakeGraph, instance: dg.DagsterInstance, web: Receiver
) -> None:
    graph = make_graph({"publish": []})
    names, topic = graph.things, graph.topics[0]
    graph.run(instance, [names.kafka_path])
    topic.send([b"bad"])

    done = graph.run(instance, [names.iceberg_path])
    cursor = graph.tick("alarms", instance, None).cursor
    cursor = graph.tick("alarms", instance, cursor).cursor
    resume(topic.spec, topic.connections, past={(0, 0)})
    topic.trades(1)
    graph.run(instance, [names.iceberg_path])
    graph.tick("alarms", instance, cursor)

    assert not done.success
    alarms = [(alarm["state"], alarm["key"]) for post in web.posts for alarm in post["alarms"]]
    key = f"check freshness of {names.table}: freshness"
    assert alarms == [("new", key), ("over", key)]
    assert "is stopped (suspended)" in web.posts[0]["alarms"][0]["text"]
