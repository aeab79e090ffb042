"""The tables made of tickets: each transform by its edges, and all of them by DuckDB's answer."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

import pytest

from frazil.connections import Connections
from frazil_local.generators.airline import SKYONE
from frazil_local.generators.chance import Chance
from frazil_local.generators.generator import encoder
from kit.derived.shipped import Pipeline, Row, derived_spec, transformed
from kit.records.tickets import ARRIVALS, LATER, NOW, SOON, TEXTS, Case, coming, tickets

FLIGHT = (*TEXTS, "airline", "$$timestamp")


def flights(connections: Connections, skyone: Sequence[Case], sunset: Sequence[Case] = ()) -> dict[str, Row]:
    """What becomes of tickets, by their confirmation codes."""
    inputs = {"skyone": tickets(connections, skyone), "sunset": tickets(connections, sunset)}
    rows = transformed(derived_spec("flight"), connections, NOW, **inputs)
    assert len({row["confirmation_code"] for row in rows}) == len(rows)
    return {row["confirmation_code"]: row for row in rows}


def test_the_flights_of_two_airlines_are_one_table(connections: Connections) -> None:
    rows = flights(connections, [("SKY1A", "a@x", SOON, LATER)], [("SUNB", "b@x", SOON, LATER)])

    assert {code: row["airline"] for code, row in rows.items()} == {"SKY1A": "SkyOne", "SUNB": "Sunset"}
    assert rows["SKY1A"] == {
        "email_address": "a@x", "departure_time": SOON, "departure_airport_code": "ATL",
        "arrival_time": LATER, "arrival_airport_code": "OSL", "flight_number": "SKY17",
        "confirmation_code": "SKY1A", "airline": "SkyOne", "$$timestamp": NOW.replace(tzinfo=None),
        "$$error": None,
    }  # fmt: skip


@pytest.fixture(scope="module")
def judged(connections: Connections) -> dict[str, Row]:
    """All of `ARRIVALS` and `BAD`, by their names."""
    return flights(connections, [*coming(), *(case for case, _ in BAD)])


BAD: list[tuple[Case, str]] = [
    (("word", "a@x", SOON, "tomorrow"), "arrival_time is no time: tomorrow"),
    (("no such day", "a@x", SOON, "2026-02-30 10:00:00"), "arrival_time is no time: 2026-02-30 10:00:00"),
    (("ISO", "a@x", SOON, "2026-03-06T10:00:00"), "arrival_time is no time: 2026-03-06T10:00:00"),
    (("empty", "a@x", SOON, ""), "arrival_time is no time: "),
    (("no arrival", "a@x", SOON, None), "arrival_time is no time: null"),
    (("no departure", "a@x", None, LATER), "departure_time is no time: null"),
    (("departure", "a@x", "24:00", LATER), "departure_time is no time: 24:00"),
    (("long ago, too", "a@x", "?", "2020-01-01 00:00:00"), "departure_time is no time: ?"),
    (("neither", "a@x", None, None), "departure_time is no time: null"),
    (("nobody", None, SOON, LATER), "email_address is null"),
]


@pytest.mark.parametrize(("name", "expected"), [(name, kept) for name, _, kept in ARRIVALS])
def test_a_flight_is_one_that_has_yet_to_arrive(judged: dict[str, Row], name: str, expected: bool) -> None:
    assert (name in judged) == expected
    assert not expected or judged[name]["$$error"] is None


def test_times_without_a_zone_are_those_of_utc_wherever_spark_runs(connections: Connections) -> None:
    assert connections.spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert connections.spark.sql("SELECT TIMESTAMP '2026-03-05 12:00:00Z' = '2026-03-05 12:00:00'").first()[0]  # type: ignore[index]


@pytest.mark.parametrize(("name", "reason"), [(case[0], reason) for case, reason in BAD])
def test_a_ticket_without_times_or_passenger_is_told_apart(
    judged: dict[str, Row], name: str, reason: str
) -> None:
    assert judged[name]["$$error"] == reason


def test_the_avro_twin_asks_the_same_of_other_topics(connections: Connections) -> None:
    twin, ours = derived_spec("flight_avro"), derived_spec("flight")
    assert twin.sql
    assert ours.sql
    bodies = [file.read_text().partition("WITH")[2] for file in (ours.sql, twin.sql)]

    assert bodies[1] == bodies[0].replace("FROM skyone", "FROM skyone_avro").replace(
        "FROM sunset", "FROM sunset_avro"
    )


MINUTES = [
    ("an hour", "2026-03-06 10:00:00", "2026-03-06 11:00:00", 60),
    ("across midnight", "2026-03-06 23:30:00", "2026-03-07 00:45:00", 75),
    ("longer than a day", "2026-03-06 10:00:00", "2026-03-07 11:00:00", 1500),
    ("across a leap day", "2028-02-28 12:00:00", "2028-03-01 12:00:00", 2880),
    ("seconds", "2026-03-06 10:00:00", "2026-03-06 10:01:59", 1),
    ("none", "2026-03-06 10:00:00", "2026-03-06 10:00:00", 0),
    ("backwards", "2026-03-06 10:00:00", "2026-03-06 09:58:30", -1),
    ("summer time elsewhere", "2026-03-29 00:30:00", "2026-03-29 03:30:00", 180),
]


def stats(connections: Connections, flown: Sequence[tuple[str, str, str, datetime]]) -> list[Row]:
    """What becomes of flights by passenger, departure, arrival and the record's time; in order."""
    schema = "email_address string, departure_time string, arrival_time string, `$$timestamp` timestamp"
    inputs = {"flight": connections.spark.createDataFrame(list(flown), schema)}
    rows = transformed(derived_spec("flyer_stats"), connections, NOW, **inputs)
    return sorted(rows, key=lambda row: (row["email_address"], row["window_start"]))


def hour(email: str, at: datetime, hours: int = 1) -> tuple[str, str, str, datetime]:
    return email, "2026-03-06 10:00:00", f"2026-03-06 {10 + hours}:00:00", at


def test_one_flight_makes_one_stat_of_its_minutes(connections: Connections) -> None:
    rows = stats(connections, [(name, start, end, NOW) for name, start, end, _ in MINUTES])

    assert {row["email_address"]: row["total_flight_duration"] for row in rows} == {
        name: minutes for name, _, _, minutes in MINUTES
    }
    assert {row["number_of_flights"] for row in rows} == {1}


def test_stats_are_by_passenger(connections: Connections) -> None:
    rows = stats(connections, [hour("a@x", NOW), hour("b@x", NOW), hour("a@x", NOW, 3)])

    totals = [(row["email_address"], row["total_flight_duration"], row["number_of_flights"]) for row in rows]
    assert totals == [("a@x", 240, 2), ("b@x", 60, 1)]


def test_a_window_holds_what_the_windows_before_it_add_up_to(connections: Connections) -> None:
    minute = timedelta(minutes=1)
    last = NOW + minute - timedelta(microseconds=1)
    flown = [hour("a@x", NOW), hour("a@x", last, 2), hour("a@x", NOW + minute), hour("a@x", NOW + 9 * minute)]

    rows = stats(connections, [*flown, hour("b@x", NOW + minute)])

    assert [
        (r["email_address"], r["window_start"].minute, r["total_flight_duration"], r["number_of_flights"])
        for r in rows
    ] == [("a@x", 0, 180, 2), ("a@x", 1, 240, 3), ("a@x", 9, 300, 4), ("b@x", 1, 60, 1)]


@pytest.fixture(scope="module")
def airline(connections: Connections) -> Pipeline:
    """The pipeline after two landings and derivations. Half a year ago the tickets were made, so that half of
    the flights are over; the second landing brings records of minutes that the first had some of."""
    chance = Chance(6, lambda: NOW - timedelta(days=180))
    pipeline = Pipeline("airline", connections, f"t{uuid.uuid4().hex[:8]}", chance)
    for begin in (NOW, NOW + timedelta(seconds=200)):
        for topic in pipeline.landed:
            pipeline.fill(topic, 400, begin, 300)
        pipeline.send("skyone", bad_tickets(pipeline), begin, 300)
        pipeline.run(NOW.timestamp())
    return pipeline


def bad_tickets(pipeline: Pipeline) -> Any:
    encode = encoder(SKYONE.value, pipeline.schema_id("skyone"))
    for code, email, departure, arrival in (case for case, _ in BAD):
        named = {"email_address": email, "departure_time": departure, "arrival_time": arrival}
        known = {name: value for name, value in named.items() if value is not None}
        yield None, encode({**known, "confirmation_code": code, "flight_duration": 1}), None, None, None


def tickets_in_duckdb(suffix: str) -> str:
    """All tickets of both airlines, with their times; bad ones have none."""
    return " UNION ALL ".join(
        f"""
        SELECT *, '{airline}' AS airline, try_strptime(departure_time, '%Y-%m-%d %H:%M:%S') AS departure,
               try_strptime(arrival_time, '%Y-%m-%d %H:%M:%S') AS arrival
        FROM {topic}{suffix}
        """
        for topic, airline in (("skyone", "SkyOne"), ("sunset", "Sunset"))
    )


COMING = (
    f"arrival > TIMESTAMP '{NOW:%Y-%m-%d %H:%M:%S}' AND departure <= '9999-12-31' AND email_address <> ''"
)


@pytest.mark.nightly
@pytest.mark.parametrize("suffix", ["", "_avro"])
def test_flights_are_what_duckdb_makes_of_all_records_at_once(airline: Pipeline, suffix: str) -> None:
    columns = ", ".join(f'"{name}"' for name in FLIGHT)

    rows, odd = airline.differing(
        f"flight{suffix}", f"SELECT {columns} FROM ({tickets_in_duckdb(suffix)}) WHERE {COMING}"
    )

    assert 0.4 * 1600 < rows < 0.6 * 1600, "half of the flights are over"
    assert odd == []


@pytest.mark.nightly
def test_bad_tickets_are_kept_with_their_reasons(airline: Pipeline) -> None:
    letters = [row["reason"] for row in airline.rows("flight__dead_letters")]

    assert sorted(letters) == sorted(chain(*([reason] * 2 for _, reason in BAD)))


@pytest.mark.nightly
def test_stats_are_what_duckdb_makes_of_all_records_at_once(airline: Pipeline) -> None:
    expected = f"""
        WITH minutes AS (
            SELECT date_trunc('minute', "$$timestamp") AS window_start, email_address, count(*) AS flights,
                   sum(datediff('second', departure, arrival) // 60) AS duration
            FROM ({tickets_in_duckdb("")}) WHERE {COMING} GROUP BY ALL
        )
        SELECT this.window_start, this.email_address, sum(upto.duration) AS total_flight_duration,
               sum(upto.flights) AS number_of_flights
        FROM minutes AS this JOIN minutes AS upto
          ON this.email_address = upto.email_address AND upto.window_start <= this.window_start
        GROUP BY ALL
    """

    rows, odd = airline.differing("flyer_stats", expected)

    assert rows > 200
    assert odd == []


@pytest.mark.nightly
def test_types_are_those_of_the_sources_with_the_time_that_they_lack(airline: Pipeline) -> None:
    assert airline.columns("flyer_stats") == {
        "window_start": "timestamptz", "email_address": "string", "total_flight_duration": "long",
        "number_of_flights": "long",
    }  # fmt: skip
    assert airline.columns("flight") == {
        **dict.fromkeys(FLIGHT, "string"), "$$timestamp": "timestamptz",
    }  # fmt: skip
    assert {airline.columns(topic)["ticket_price"] for topic in airline.landed} == {"decimal(10, 2)"}


@pytest.mark.nightly
def test_the_second_run_read_new_records_only(airline: Pipeline) -> None:
    first, second = ({name: report.input_rows for name, report in run.items()} for run in airline.reports)

    assert first["flight"] == second["flight"] == 800 + len(BAD)
    assert first["flight_avro"] == second["flight_avro"] == 800
