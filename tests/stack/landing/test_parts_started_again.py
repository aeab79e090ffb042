"""Parts that are started again beneath a process that goes on for ever: it needs no help to go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
import pytest

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.continuous.work import WarmWork
from frazil.errors import RetryError
from frazil.landing.land import land
from frazil.local.home import Home
from frazil.local.parts import prepared_stack
from frazil.local.stack import Stack
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.tables.spark import configure_session
from kit.killed import NAMESPACE
from kit.processes import kill
from kit.shared_stack import all_parts_alike, free_offset
from kit.topics import Topic, create_topic
from kit.waiting import wait_for
from resources.connections import spark_resource

# Spark's client says so where it gives up; pytest would make an error of it.
pytestmark = pytest.mark.filterwarnings("ignore:.RETRIES_EXCEEDED")

PARTS = ("storage", "aws", "kafka", "registry", "spark")

Lander = Callable[[TableSpec], object]


@pytest.fixture(scope="module")
def own_stack(stack_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack that may be broken."""
    stack = prepared_stack(Home(tmp_path_factory.mktemp("own") / "home"), {}, free_offset())
    with all_parts_alike():
        stack.up(lambda *_: None, PARTS)
    yield stack
    stack.down(lambda *_: None)


@pytest.fixture(scope="module")
def landers(own_stack: Stack) -> Iterator[dict[str, Lander]]:
    """By process how it lands: each keeps its clients for as long as the module's tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAZIL_HOME", str(own_stack.home.root))  # Dagster's resource asks the profile in force
        yield _landers(own_stack)


def _landers(own_stack: Stack) -> dict[str, Lander]:
    settings = Settings.of_profile(own_stack.home.profile)
    run = WarmWork(lambda: Clients(settings), run_id="run")
    session = spark_resource(settings)
    served = Clients(settings, lambda told: configure_session(session.spark_session, told))
    return {
        "frazil run, and sensors": lambda spec: run.land(spec, 1_000),
        "Dagster's code server": lambda spec: land(spec, served),
    }


def start_again(stack: Stack, part: str) -> None:
    pid = next(each.pid for each in stack.status() if each.name == part)
    assert pid
    process = psutil.Process(pid)
    kill([*process.children(recursive=True), process])
    with all_parts_alike():
        stack.up(lambda *_: None, PARTS)


def topic_of(stack: Stack, name: str) -> Topic:
    connections: Connections = Clients(Settings.of_profile(stack.home.profile))
    create_topic(connections.admin, name, 1, {})
    return Topic(name, connections, TableSpec(topic=name, namespace=NAMESPACE, publish=[]))


def lands(lander: Lander, topic: Topic, met: list[Exception]) -> bool:
    """Whether a try landed; only what passes by itself may keep it from that."""
    try:
        lander(topic.spec)
    except RetryError as e:
        met.append(e)
        return False
    return True


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_started_again_while_a_process_is_idle_costs_it_two_tries_at_most(
    own_stack: Stack, landers: dict[str, Lander], fresh_name: str, part: str
) -> None:
    topics = {who: topic_of(own_stack, f"{fresh_name}_{n}") for n, who in enumerate(landers)}
    for who, topic in topics.items():
        topic.trades(3)
        landers[who](topic.spec)

    start_again(own_stack, part)

    for who, topic in topics.items():
        topic.trades(3)
        met: list[Exception] = []
        wait_for(lambda who=who, topic=topic, met=met: lands(landers[who], topic, met))
        assert len(met) <= 2, who
        assert len(topic.rows()) == 6


@contextmanager
def landing_all_the_time(lander: Lander, topic: Topic, other: list[Exception]) -> Iterator[None]:
    """Landings in a thread, one after the other; what ends one but does not pass by itself is noted."""
    stop = threading.Event()

    def work() -> None:
        met: list[Exception] = []
        while not stop.is_set():
            try:
                lands(lander, topic, met)
            except Exception as e:  # noqa: BLE001 - it is what the test asks for
                other.append(e)
            stop.wait(0.2)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_started_again_while_a_process_lands_ends_no_later_landing_of_it(
    own_stack: Stack, landers: dict[str, Lander], fresh_name: str, part: str
) -> None:
    topic, other = topic_of(own_stack, fresh_name), list[Exception]()
    lander = landers["frazil run, and sensors"]
    topic.trades(3)
    lander(topic.spec)
    topic.trades(50)

    with landing_all_the_time(lander, topic, other):
        start_again(own_stack, part)
        topic.trades(3)
        wait_for(lambda: is_whole(topic, 56))

    assert sorted(row["quantity"] for row in topic.rows()) == list(range(56))
    assert other == []


def is_whole(topic: Topic, records: int) -> bool:
    try:
        return len(topic.rows()) == records
    except OSError:
        return False  # storage that was killed answers before it finds all that it holds
