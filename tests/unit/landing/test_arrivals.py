"""A look at many tables asks for few of them, reads no history, and is right all the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from frazil.cli.results import each
from frazil.cli.selection import Selection
from frazil.clients import Clients
from frazil.errors import PartDownError, SchemaRefusedError
from frazil.kafka.facts import TopicFacts
from frazil.landing.arrivals import MOST_ASKED, Arrivals, look_for_arrivals
from frazil.landing.many import land_many
from frazil.landing.position.history import History
from frazil.landing.position.standing import Standings
from frazil.landing.position.state import TableState, known_states
from frazil.landing.report import LandingReport
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import open_catalog
from kit.graph.many_tables import RestTables, Topics, clients_of, rest_tables
from kit.tables.commits import NAME, Lake, lake_of, landed
from kit.tables.table_histories import HISTORIES, Happen, rolled_back
from kit.wires.lying import glue_in_process
from kit.wires.wire import Wire, wired

MANY, MOVED, HOUR = 100, 5, 3600.0
SPEC = TableSpec(topic="t", namespace="n", publish=[])


@pytest.fixture
def rest() -> Iterator[RestTables]:
    """A REST catalog in this process."""
    with rest_tables() as tables:
        yield tables


@pytest.fixture(scope="module")
def glue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Wire, Settings]]:
    """A wire before Glue, and an environment in which Glue owns the tables."""
    folder = tmp_path_factory.mktemp("glue")
    with glue_in_process(folder) as url, wired({"glue": url}) as (wire, urls):
        keys = {"access_key": "key", "secret_key": "secret"}
        access = {"endpoint": urls["glue"], "warehouse": folder.as_uri()}
        yield wire, Settings().with_changes(catalog="glue", glue=access, aws=keys)


@pytest.fixture
def lake(two_landings: tuple[Path, str], tmp_path: Path) -> Lake:
    """A table that holds the offsets before 4 of its topic."""
    database = f"sqlite:///{tmp_path}/catalog.sqlite"  # several threads ask
    folder, metadata = two_landings
    return lake_of(SqlCatalog("lake", uri=database, warehouse=folder.as_uri()), metadata)


def by_rest(rest: RestTables, ends: dict[str, int]) -> Clients:
    """Clients of the REST catalog, and of Kafka with these topics."""
    return clients_of(Settings().with_changes(rest={"uri": rest.url, "token": "known"}), Topics(ends))


def states(clients: Clients) -> list[TableState]:
    states_known, down = known_states([SPEC], clients, lambda: 2e9)
    assert not down
    return states_known


@pytest.mark.parametrize(("happen", "at"), HISTORIES.values(), ids=HISTORIES)
def test_a_table_stands_where_its_whole_history_says_though_little_of_that_is_read(
    lake: Lake, rest: RestTables, glue: tuple[Wire, Settings], happen: Happen, at: int
) -> None:
    happen(lake)
    rest.show(lake.table)
    _, settings = glue
    owner = open_catalog(settings)
    owner.create_namespace_if_not_exists("n")
    owner.register_table(NAME.identifier, lake.table.metadata_location)
    ends = {"t": 9}

    whole = states(clients_of(Settings(), Topics(ends), catalog=lake.catalog))
    by_head, by_file = states(by_rest(rest, ends)), states(clients_of(settings, Topics(ends)))
    owner.drop_table(NAME.identifier)

    assert whole[0].position == {0: at}
    assert (by_head, by_file) == (whole, whole)


def copies(rest: RestTables, lake: Lake, many: int = MANY) -> tuple[list[TableSpec], Clients, Topics]:
    """Copies of the table; all topics stand still."""
    specs = [TableSpec(topic=f"t{n:03}", namespace="n", publish=[]) for n in range(many)]
    names = [spec.topic for spec in specs]
    rest.show(lake.table, names)
    topics = Topics(dict.fromkeys(names, 4))
    clients = by_rest(rest, {})
    clients.__dict__["admin"] = topics
    return specs, clients, topics


def later() -> float:
    return time.time() + HOUR


def known_to_all(specs: list[TableSpec], clients: Clients) -> Standings:
    memory: Standings = {}
    while len(memory) < len(specs):
        look_for_arrivals(specs, clients, later, memory)
    return memory


def asked(rest: RestTables, look: Callable[[], Arrivals]) -> tuple[Arrivals, list[tuple[str, str]]]:
    """A look, and the requests that it took."""
    rest.asked.clear()
    return look(), list(rest.asked)


def test_a_first_look_at_many_tables_asks_for_a_part_of_them_and_says_how_many_are_left(
    lake: Lake, rest: RestTables
) -> None:
    specs, clients, topics = copies(rest, lake, MOST_ASKED + 50)

    seen, requests = asked(rest, lambda: look_for_arrivals(specs, clients, later, {}))

    assert (len(requests), seen.unknown, len(seen.states)) == (MOST_ASKED, 50, MOST_ASKED)
    assert {snapshots for _, snapshots in requests} == {"refs"}, "no history is asked for"
    assert topics.asked == {"describe_topics": 1, "list_offsets": 3}, "for all topics at once"


def test_later_looks_ask_for_the_tables_whose_topic_moved_and_for_a_few_of_the_others(
    lake: Lake, rest: RestTables
) -> None:
    specs, clients, topics = copies(rest, lake)
    memory = known_to_all(specs, clients)
    moved = [spec.topic for spec in specs[::20]]
    topics.ends |= dict.fromkeys(moved, 5)

    seen, requests = asked(rest, lambda: look_for_arrivals(specs, clients, later, memory))

    assert sorted(due.spec.topic for due in seen.due) == moved
    assert set(moved) <= {name for name, _ in requests}
    assert len(requests) <= MOVED + MANY // 30 + 1
    assert (len(seen.states), seen.waiting) == (MANY, MOVED)


def test_a_look_in_between_asks_for_the_tables_only_whose_topic_moved(lake: Lake, rest: RestTables) -> None:
    specs, clients, topics = copies(rest, lake)
    memory = known_to_all(specs, clients)
    _, none = asked(rest, lambda: look_for_arrivals(specs, clients, later, memory, in_turn=False))
    topics.ends["t007"] = 5

    seen, requests = asked(rest, lambda: look_for_arrivals(specs, clients, later, memory, in_turn=False))

    assert (none, [due.spec.topic for due in seen.due]) == ([], ["t007"])
    assert {name for name, _ in requests} == {"t007"}


def test_a_table_that_somebody_landed_in_between_is_not_due(lake: Lake, rest: RestTables) -> None:
    rest.show(lake.table)
    clients, memory = by_rest(rest, {"t": 4}), Standings()
    look_for_arrivals([SPEC], clients, later, memory)
    clients.admin.ends["t"] = 6  # type: ignore[attr-defined]
    landed(lake, 4, 5)
    rest.show(lake.table)

    seen = look_for_arrivals([SPEC], clients, later, memory)

    assert (seen.due, seen.states[0].state) == ((), "current")


def test_a_table_that_was_rolled_back_while_its_topic_stood_still_is_due_some_looks_later(
    lake: Lake, rest: RestTables
) -> None:
    specs, clients, _ = copies(rest, lake, 60)
    memory = known_to_all(specs, clients)
    rolled_back(lake)
    rest.show(lake.table, ["t050"])

    due = [d.spec.topic for _ in range(30) for d in look_for_arrivals(specs, clients, later, memory).due]

    assert set(due) == {"t050"}


def test_a_table_that_cant_be_read_is_told_and_keeps_no_other_from_being_landed(
    lake: Lake, rest: RestTables
) -> None:
    specs, clients, topics = copies(rest, lake, 3)
    topics.ends |= dict.fromkeys(topics.ends, 5)
    location, document = rest.tables["t001"]
    rest.tables["t001"] = location, {**document, "format-version": 9}

    seen = look_for_arrivals(specs, clients, later, {})

    assert sorted(due.spec.topic for due in seen.due) == ["t000", "t002"]
    assert (list(seen.failed), seen.unknown) == (["n.t001"], 0)


def test_a_table_whose_log_kafka_does_not_tell_of_keeps_no_other_from_being_known(
    lake: Lake, rest: RestTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leader changed, and the broker that would tell whether the log was cut does not answer."""
    specs, clients, topics = copies(rest, lake, 3)
    topics.ends |= dict.fromkeys(topics.ends, 5)

    def silent(settings: Settings, name: TableName, facts: TopicFacts, *_: object, **__: object) -> History:
        if facts.topic == "t001":
            raise PartDownError("Kafka does not answer.")
        return History(name, facts, None)

    monkeypatch.setattr("frazil.landing.position.state.look", silent)
    known, down = known_states(specs, clients)
    seen = look_for_arrivals(specs, clients, later, {})

    assert [state.topic for state in known] == ["t000", "t002"]
    assert list(down) == list(seen.failed) == ["n.t001"]
    assert sorted(due.spec.topic for due in seen.due) == ["t000", "t002"]


def test_a_catalog_that_tells_of_no_table_is_down(lake: Lake, rest: RestTables) -> None:
    specs, clients, _ = copies(rest, lake, 3)
    rest.tables.clear()
    rest.status = 503

    with pytest.raises(PartDownError, match="does not answer"):
        look_for_arrivals(specs, clients, later, {})


def test_of_many_tables_only_those_are_landed_whose_topic_moved(
    lake: Lake, rest: RestTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs, clients, topics = copies(rest, lake)
    moved = [spec.topic for spec in specs[::20]]
    topics.ends |= dict.fromkeys(moved, 5)
    begun: list[str] = []

    def land(spec: TableSpec, *_: object, **__: object) -> LandingReport:
        begun.append(spec.topic)
        return LandingReport(spec.topic, spec.topic)

    monkeypatch.setattr("frazil.landing.many.land", land)
    outcomes = list(land_many(specs, clients))

    assert sorted(begun) == moved
    assert len(outcomes) == MANY
    assert sum(isinstance(o, TableState) and o.state == "current" for _, o in outcomes) == MANY - MOVED
    assert topics.asked["describe_topics"] == 1


@pytest.mark.parametrize(
    "crash", [SchemaRefusedError("No column."), RecursionError("deep"), AssertionError()]
)
def test_a_schema_that_can_t_be_read_is_its_own_tables_failure(
    lake: Lake, rest: RestTables, monkeypatch: pytest.MonkeyPatch, crash: Exception
) -> None:
    specs, clients, _ = copies(rest, lake, 3)

    def land(spec: TableSpec, *_: object, **__: object) -> LandingReport:
        if spec.topic == "t001":
            raise crash
        return LandingReport(spec.topic, spec.topic)

    monkeypatch.setattr("frazil.landing.many.land", land)
    outcomes = {spec.topic: outcome for spec, outcome in land_many(specs, clients)}
    by_hand = each(Selection(tuple(specs), clients), "landing", lambda spec, _: land(spec), every=True)

    assert {topic: type(o) for topic, o in outcomes.items()} == {
        "t000": LandingReport, "t001": type(crash), "t002": LandingReport,
    }  # fmt: skip
    assert (list(by_hand.done), list(by_hand.failed)) == (["n.t000", "n.t002"], ["n.t001"])


def test_glue_tells_of_all_tables_in_one_request_and_no_metadata_is_read_twice(
    lake: Lake, glue: tuple[Wire, Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    wire, settings = glue
    specs = [TableSpec(topic=f"t{n}", namespace="many", publish=[]) for n in range(12)]
    clients = clients_of(settings, Topics({spec.topic: 4 for spec in specs}))
    clients.catalog.create_namespace_if_not_exists("many")
    for spec in specs:
        clients.catalog.register_table(("many", spec.topic), lake.table.metadata_location)
    wire.asked.clear()
    memory: Standings = {}

    first = look_for_arrivals(specs, clients, later, memory)
    monkeypatch.setattr("frazil.tables.catalogs.pointers.read_metadata", None)
    again = look_for_arrivals(specs, clients, later, memory)

    assert [asked.operation for asked in wire.asked] == ["GetTables", "GetTable"], "later one in turn"
    assert len(first.states) == len(again.states) == len(specs)
