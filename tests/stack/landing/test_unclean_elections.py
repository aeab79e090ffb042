"""A replica that stayed behind is elected to lead: what only the dead leader had is gone, and was landed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import PartDownError, TopicChangedError
from frazil.kafka.facts import describe, topic_fact
from frazil.landing.arrivals import look_for_arrivals
from frazil.landing.land import land
from frazil.landing.position.state import known_states, table_states
from frazil.settings.profile import Settings
from frazil.spec.freshness import LandWhen
from frazil.spec.topic import TableSpec
from kit.records.topics import Topic
from kit.runs.waiting import PATIENCE, wait_for
from kit.stack.brokers import MAY_FALL, STAYS, Brokers, leader, three_brokers

pytestmark = [
    pytest.mark.nightly,  # unit/landing/test_history.py has logs that were cut each time
    pytest.mark.plain(why="a log is cut at exact offsets"),
]


@pytest.fixture(scope="module")
def brokers(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """A cluster of one's own, beside the stack that holds the tables."""
    with three_brokers(tmp_path_factory.mktemp("brokers") / "home") as opened:
        yield opened


@pytest.fixture
def topic(brokers: Brokers, stack: Settings, fresh_name: str) -> Topic:
    """Ten records, all landed, on two replicas that both have them."""
    brokers.start(*MAY_FALL)
    connections = Clients(stack.with_changes(kafka={"bootstrap_servers": brokers.servers}))
    brokers.make_topic(connections, fresh_name)
    topic = Topic(fresh_name, connections, TableSpec(topic=fresh_name, namespace="landing_tests"))
    topic.trades(10)
    assert land(topic.spec, connections).records == 10
    return topic


def assert_led_by(topic: Topic, broker: int) -> None:
    """Once its client has found the brokers that are left."""
    wait_for(lambda: leader(topic.connections.admin, topic.name) == broker)
    wait_for(lambda: is_answered(topic))


def is_answered(topic: Topic) -> bool:
    try:
        return topic.name in describe(topic.connections.admin, [topic.name])
    except PartDownError:
        return False


def records_landed(topic: Topic) -> int:
    """How many records a landing brings; none as long as it meets the broker that died."""
    try:
        return land(topic.spec, topic.connections).records
    except PartDownError:
        return 0


def test_a_log_that_lost_its_end_to_an_unclean_election_and_grew_past_the_position_is_refused(
    brokers: Brokers, topic: Topic
) -> None:
    brokers.stop(2)
    assert_led_by(topic, 1)
    topic.trades(5)
    assert land(topic.spec, topic.connections).records == 5
    brokers.kill(1)
    assert_led_by(topic, -1)
    with pytest.raises(PartDownError, match="No broker leads a partition"):
        land(topic.spec, topic.connections)
    brokers.start(2)
    assert_led_by(topic, 2)
    topic.trades(8)

    with pytest.raises(
        TopicChangedError, match="partition 0 was cut at 10 and grew again, landed to 15"
    ) as raised:
        land(topic.spec, topic.connections)
    brokers.start(1)
    with pytest.raises(TopicChangedError, match="leader elected uncleanly"):
        land(topic.spec, topic.connections)

    assert "The table has rows that the topic lost. Nothing was landed." in raised.value.meaning
    assert topic_fact(topic.connections.admin, topic.name).end == {0: 18}
    assert len(topic.rows()) == 15
    assert table_states([topic.spec], topic.connections)[0].state == "topic changed"
    assert land(topic.spec, topic.connections, adopt_topic=True).spans == {0: (10, 18)}
    assert sorted(row["quantity"] for row in topic.rows()) == list(range(23))
    assert_all_adds_up(topic.spec, topic.connections)


def test_a_leader_that_hands_over_loses_nothing_and_landings_go_on(brokers: Brokers, topic: Topic) -> None:
    brokers.stop(1)
    assert_led_by(topic, 2)
    topic.trades(5)

    assert land(topic.spec, topic.connections).spans == {0: (10, 15)}

    brokers.start(1)
    assert_all_adds_up(topic.spec, topic.connections)


def test_a_client_that_asked_the_broker_that_died_soon_asks_another_one(
    brokers: Brokers, topic: Topic
) -> None:
    admin = topic.connections.admin
    wait_for(lambda: admin.list_topics(timeout=PATIENCE).controller_id == 2)  # another one at each look
    brokers.kill(2)

    wait_for(lambda: is_answered(topic), seconds=200)  # by default a client asks anew after five minutes

    topic.trades(5)
    wait_for(lambda: records_landed(topic) == 5)


def test_a_partition_that_nobody_leads_keeps_no_other_topic_from_being_landed(
    brokers: Brokers, topic: Topic
) -> None:
    other = Topic(
        f"{topic.name}_b", topic.connections, topic.spec.model_copy(update={"topic": f"{topic.name}_b"})
    )
    brokers.make_topic(topic.connections, other.name, [STAYS])
    other.trades(10)
    for number in MAY_FALL:
        brokers.kill(number)
    wait_for(lambda: leader(topic.connections.admin, topic.name) == -1)
    wait_for(lambda: is_answered(other))
    specs = [topic.spec, other.spec.model_copy(update={"land_when": LandWhen(records=1)})]

    arrivals = look_for_arrivals(specs, topic.connections, memory={})
    states, silent = known_states(specs, topic.connections)

    assert [due.spec.topic for due in arrivals.due] == [other.name]
    assert "No broker leads a partition" in arrivals.failed[f"landing_tests.{topic.name}"]
    assert {state.topic: state.state for state in states} == {topic.name: "unknown", other.name: "new"}
    assert [*silent] == [f"landing_tests.{topic.name}"]
    error = silent[f"landing_tests.{topic.name}"]

    brokers.start(*MAY_FALL)
    topic.trades(5)
    wait_for(lambda: records_landed(topic) == 5)

    assert (error.todo or "").startswith("Start the brokers that are down")


def assert_all_adds_up(spec: TableSpec, connections: Connections) -> None:
    for name in ("row_count", "row_count_deep", "freshness"):
        result = run_check(name, spec, connections)
        assert result.passed, result.text
