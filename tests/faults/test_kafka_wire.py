"""Kafka behind a wire that loses, cuts and delays its answers: each record once, and what is told is true."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from confluent_kafka.admin import AdminClient

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.discovery.findings import topic_names
from frazil.errors import FrazilError, PartDownError
from frazil.kafka.facts import allowed_operations, describe, topic_fact
from frazil.kafka.provisioning import as_specified
from frazil.landing import source
from frazil.landing.land import land
from frazil.settings.profile import Settings
from kit.readers.opened import table_of
from kit.records.topics import TRADE, Topic, topic_maker
from kit.runs.waiting import wait_for
from kit.stack.brokers import FarBroker
from kit.wires.over_the_wire import over_the_wire
from kit.wires.wire import Asked, Fate, Wire

FATES: tuple[Fate, ...] = ("dropped", "cut", "late", "trickles", "unsent", "halved")


@pytest.fixture(scope="module")
def wire_and_clients(stack: Settings, far: FarBroker) -> Iterator[tuple[Wire, Connections]]:
    with over_the_wire(stack, far) as opened:
        yield opened


@pytest.fixture
def wire(wire_and_clients: tuple[Wire, Connections]) -> Iterator[Wire]:
    """Calm again when the test ends."""
    yield wire_and_clients[0]
    wire_and_clients[0].calm()


@pytest.fixture
def landed(wire_and_clients: tuple[Wire, Connections], fresh_name: str) -> Topic:
    """A topic of two partitions and 4,000 records, two of which are landed."""
    topic = topic_maker(wire_and_clients[1], fresh_name, "fault_tests")(partitions=2)
    for partition in range(2):
        topic.trades(1, partition, plain="offsets are foretold")
    land(topic.spec, topic.connections)
    for partition in range(2):
        topic.trades(1999, partition, plain="offsets are foretold")
    return topic


@pytest.mark.nightly
@pytest.mark.parametrize("fate", FATES)
def test_what_befalls_the_first_request_of_each_kind_costs_no_record(
    landed: Topic, wire: Wire, fate: Fate
) -> None:
    met: set[tuple[str, bool]] = set()

    def first_of_its_kind(asked: Asked) -> Fate | None:
        kind = asked.operation, is_sparks(asked)
        is_new = asked.server == "kafka" and asked.operation != "ApiVersions" and kind not in met
        met.add(kind)
        return fate if is_new else None

    wire.plan = first_of_its_kind
    message = attempt(landed)
    wire.calm()

    assert met
    assert "Kafka" in message
    assert_all_is_there_once(landed)


@pytest.mark.parametrize("of_spark", [True, False], ids=["Spark", "Frazil"])
def test_an_answer_that_never_comes_is_asked_for_again(landed: Topic, wire: Wire, of_spark: bool) -> None:
    wire.once("hangs", lambda asked: asked.operation == "Fetch" and is_sparks(asked) == of_spark)

    message = attempt(landed)
    wire.calm()

    assert "Kafka" in message
    assert wire.met["kafka", "hangs"]
    assert_all_is_there_once(landed)


@pytest.mark.nightly
def test_an_end_that_kafka_did_not_tell_is_no_log_that_was_cut(landed: Topic, wire: Wire) -> None:
    admin, name = landed.connections.admin, landed.name
    known = topic_fact(admin, name)

    for fate in FATES:
        for number in range(2):  # of the first offsets, and of the ends
            numbers = count()
            wire.plan = lambda asked, of=number, n=numbers, met=fate: (  # type: ignore[misc]
                met if asked.operation == "ListOffsets" and next(n) == of else None
            )
            assert topic_fact(admin, name) == known


RETAINED = {"topic_config": {"retention.ms": "604800000"}}
"""As brokers keep records where nobody says how long."""

QUESTIONS: dict[str, Callable[[AdminClient, Topic], object]] = {
    "topics": lambda admin, topic: topic.name in topic_names(admin),
    "partitions": lambda admin, topic: len(describe(admin, [topic.name])[topic.name].partitions),
    "offsets": lambda admin, topic: topic_fact(admin, topic.name),
    "rights": lambda admin, topic: allowed_operations(admin, topic.name),
    "settings": lambda admin, topic: as_specified(admin, topic.spec.model_copy(update=RETAINED)),
}


@pytest.mark.each_time("partitions")
@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_whose_answer_is_lost_is_asked_again(
    landed: Topic, wire: Wire, question: Callable[[AdminClient, Topic], object]
) -> None:
    calm = question(landed.connections.admin, landed)

    for fate in FATES:
        wire.once(fate, lambda asked: asked.operation not in ("ApiVersions", "Fetch"))
        assert question(landed.connections.admin, landed) == calm


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A Kafka that is silent is given up after four seconds, not twenty."""
    with monkeypatch.context() as patch:
        for limit in ("_PATIENCE", "_METADATA"):
            patch.setattr(f"frazil.kafka.probe.{limit}", 2.0)
        patch.setitem(source._OPTIONS, "kafka.default.api.timeout.ms", "4000")
        yield patch


def test_a_kafka_that_swallows_all_is_named_and_nothing_untrue_is_told_of_a_column_that_came(
    landed: Topic, wire: Wire, impatient: pytest.MonkeyPatch
) -> None:
    note = {"name": "note", "type": ["null", "string"], "default": None}
    landed.register({**TRADE, "fields": [*TRADE["fields"], note]})

    def swallow(done: str) -> None:
        if done == "evolved":
            wire.always("hangs", lambda asked: asked.server == "kafka")

    with pytest.raises(PartDownError, match="Kafka does not answer") as raised:
        land(landed.spec, landed.connections, on_step=swallow)
    wire.calm()
    impatient.undo()
    wait_for(lambda: attempt(landed).endswith("landed"))  # a connection that hangs is given up some time

    assert "note" in table_of(landed).schema().column_names
    assert "nothing was changed" not in raised.value.meaning.lower()
    assert_all_is_there_once(landed)


@pytest.mark.nightly
@pytest.mark.usefixtures("impatient")
def test_a_kafka_that_swallows_what_spark_asks_is_named(landed: Topic, wire: Wire) -> None:
    wire.always("hangs", lambda asked: asked.server == "kafka" and is_sparks(asked))

    with pytest.raises(PartDownError, match="Kafka stopped answering") as raised:
        land(landed.spec, landed.connections)
    wire.calm()

    assert "Nothing of this landing is visible" in raised.value.meaning
    assert_all_is_there_once(landed)


def is_sparks(asked: Asked) -> bool:
    """Whether Java's client asks; librdkafka calls itself as Frazil tells it to."""
    return asked.agent != "frazil"


def attempt(topic: Topic) -> str:
    """What a landing that may fail tells."""
    try:
        return f"{land(topic.spec, topic.connections).records} records of Kafka are landed"
    except FrazilError as error:
        return error.what


def assert_all_is_there_once(topic: Topic) -> None:
    """After one more landing; none finds anything after that, and no branch is left."""
    land(topic.spec, topic.connections)

    assert land(topic.spec, topic.connections).records == 0
    assert sorted(row["quantity"] for row in topic.rows()) == list(range(topic.produced))
    assert list(table_of(topic).metadata.refs) == ["main"]
    assert run_check("row_count", topic.spec, topic.connections).passed
