"""A broker that loses the end of its log in a crash, and then takes new records at the same offsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import psutil
import pytest

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.errors import RetryError, TopicChangedError
from frazil.kafka.facts import topic_fact
from frazil.landing.land import land
from frazil.landing.position.state import TableState, table_states
from frazil.settings.profile import Settings
from frazil_local.home import Home
from frazil_local.parts import prepared_stack
from frazil_local.stack import Stack
from kit.records.topics import Topic, topic_maker
from kit.runs.processes import kill
from kit.stack.shared_stack import free_offset


@dataclass(frozen=True)
class Broker:
    """A broker of one's own, beside the stack that holds the tables."""

    stack: Stack

    def up(self) -> None:
        self.stack.up(lambda *_: None, ["kafka"])

    def kill(self) -> None:
        pid = next(each.pid for each in self.stack.status() if each.name == "kafka")
        assert pid
        kill([psutil.Process(pid)])

    def lose(self, topic: str, share: float) -> None:
        """Crashes, and comes back without the end of the topic's log, as after a power cut."""
        self.kill()
        (log,) = self.stack.home.root.rglob(f"{topic}-0/*.log")
        with log.open("r+b") as file:
            file.truncate(int(log.stat().st_size * (1 - share)))
        self.up()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    own_broker = Broker(prepared_stack(Home(tmp_path_factory.mktemp("broker") / "home"), {}, free_offset()))
    own_broker.up()
    yield own_broker
    own_broker.stack.down(lambda *_: None)


pytestmark = pytest.mark.plain(why="a log is cut at exact offsets")


@pytest.fixture
def topic(broker: Broker, stack: Settings, fresh_name: str) -> Topic:
    """A topic on that broker with ten records, all landed, one batch for each record."""
    servers = Settings.of_profile(broker.stack.home.profile).kafka.bootstrap_servers
    connections = Clients(stack.with_changes(kafka={"bootstrap_servers": servers}))
    topic = topic_maker(connections, fresh_name, "landing_tests")()
    for _ in range(10):
        topic.trades(1)
    assert land(topic.spec, connections).records == 10
    return topic


def state_of(topic: Topic) -> TableState:
    return table_states([topic.spec], topic.connections)[0]


def end_of(topic: Topic) -> int:
    return topic_fact(topic.connections.admin, topic.name).end[0]


@pytest.mark.nightly
def test_a_broker_that_was_only_started_again_is_landed_on(broker: Broker, topic: Topic) -> None:
    broker.kill()
    broker.up()
    topic.trades(3)

    assert state_of(topic).state == "behind"
    assert land(topic.spec, topic.connections).spans == {0: (10, 13)}


@pytest.mark.nightly
def test_a_log_that_was_cut_and_grew_again_is_refused_and_landed_once_it_is_adopted(
    broker: Broker, topic: Topic
) -> None:
    broker.lose(topic.name, 0.35)
    kept = end_of(topic)
    topic.trades(12)

    with pytest.raises(
        TopicChangedError, match=f"partition 0 was cut at {kept} and grew again, landed to 10"
    ):
        land(topic.spec, topic.connections)
    assert 0 < kept < 10 < end_of(topic)
    assert len(topic.rows()) == 10
    assert state_of(topic).state == "topic changed"
    assert "--adopt-topic" in run_check("freshness", topic.spec, topic.connections).text

    report = land(topic.spec, topic.connections, adopt_topic=True)

    assert (report.records, report.spans) == (12, {0: (kept, kept + 12)})
    assert sorted(row["quantity"] for row in topic.rows()) == list(range(22))
    for check in ("row_count", "row_count_deep", "freshness"):
        assert run_check(check, topic.spec, topic.connections).passed
    topic.trades(2)
    assert land(topic.spec, topic.connections).records == 2


@pytest.mark.nightly
def test_a_log_that_is_cut_and_grows_again_before_it_is_read_is_not_landed_under_the_old_plan(
    broker: Broker, topic: Topic
) -> None:
    for _ in range(10):
        topic.trades(1)
    kept = []

    def lose(step: str) -> None:
        if step == "planned":
            broker.lose(topic.name, 0.2)
            kept.append(end_of(topic))
            topic.trades(12)

    with pytest.raises(
        RetryError, match=r"was cut while [\s\S]*partition 0: cut at \d+, planned to 20"
    ) as raised:
        land(topic.spec, topic.connections, on_step=lose)
    (cut,) = kept
    assert 10 < cut < 20 < end_of(topic)
    assert f"cut at {cut}," in raised.value.where
    assert len(topic.rows()) == 10

    assert land(topic.spec, topic.connections).spans == {0: (10, cut + 12)}
    assert sorted(row["quantity"] for row in topic.rows()) == [*range(cut), *range(20, 32)]
    assert run_check("row_count_deep", topic.spec, topic.connections).passed
