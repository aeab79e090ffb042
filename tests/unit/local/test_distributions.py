"""What is made up lies in the ranges that the sources give, every value as often as the other."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

import fastavro
import pytest

from frazil.kafka.provisioning import TopicState
from frazil_local.generators import GENERATORS
from frazil_local.generators.airline import AIRPORTS, addresses
from frazil_local.generators.chance import Chance, Origin
from kit.drawn.distributions import assert_uniform

NOW = datetime(2026, 3, 5, 17, 30, 12, tzinfo=UTC)
CHANCE = Chance(11, lambda: NOW)
COUNTS = {"stock_trades": 26_000, "users": 10_000, "skyone": 10_000, "sunset": 10_000}

Row = dict[str, Any]
MakeRows = Callable[[str], list[Row]]


def decoded(topic: str, count: int, chance: Chance = CHANCE) -> list[Row]:
    """Values of a topic as another library reads them, with the key's text as `key`."""
    generator = GENERATORS[topic]
    records = generator.records(chance, state_of(topic), Origin())
    read = json.loads if generator.value.kind == "JSON" else avro_reader(generator.value.text)
    return [{"key": key, **read(value[5:])} for key, value, *_ in islice(records, count) if value]


def avro_reader(text: str) -> Callable[[bytes], Row]:
    schema = fastavro.parse_schema(json.loads(text))
    return lambda value: dict(fastavro.schemaless_reader(io.BytesIO(value), schema, None))  # type: ignore[call-overload]


def state_of(topic: str) -> TopicState:
    """A topic of which nobody but the encoder hears."""
    return TopicState(topic, "", 1, True, {}, {}, None, schema_id=1, schema_version=None)


@pytest.fixture(scope="module")
def rows() -> MakeRows:
    """A large sample of each, drawn when first asked for."""
    drawn: dict[str, list[Row]] = {}

    def rows(topic: str) -> list[Row]:
        if topic not in drawn:
            drawn[topic] = decoded(topic, COUNTS[topic])
        return drawn[topic]

    return rows


@pytest.mark.parametrize(
    ("topic", "field", "expected"),
    [
        ("stock_trades", "side", ("BUY", "SELL")),
        ("stock_trades", "quantity", range(1, 5000)),
        ("stock_trades", "symbol", ("ZBZX", "ZJZZT", "ZTEST", "ZVV", "ZVZZT", "ZWZZT", "ZXZZT")),
        ("stock_trades", "price", range(5, 1000)),
        ("stock_trades", "account", ("ABC123", "LMN456", "XYZ789")),
        ("stock_trades", "userid", [f"User_{n}" for n in range(1, 10)]),
        ("users", "userid", [f"User_{n}" for n in range(1, 10)]),
        ("users", "regionid", [f"Region_{n}" for n in range(1, 10)]),
        ("users", "gender", ("MALE", "FEMALE", "OTHER")),
        ("skyone", "email_address", addresses(CHANCE)),
        ("skyone", "booking_agency_email", addresses(CHANCE)),
        ("skyone", "flight_duration", range(60, 1320)),
        ("skyone", "ticket_price", range(500, 1500)),
        ("skyone", "flight_number", [f"SKY1{n}" for n in range(1000)]),
        ("sunset", "email_address", addresses(CHANCE)),
        ("sunset", "flight_number", [f"SUN{n}" for n in range(1000)]),
    ],
)
def test_every_value_of_a_field_comes_as_often_as_the_other(
    rows: MakeRows, topic: str, field: str, expected: Any
) -> None:
    assert_uniform((row[field] for row in rows(topic)), expected)


def test_what_is_large_and_what_is_dear_have_nothing_to_do_with_each_other(rows: MakeRows) -> None:
    quarters = [(row["quantity"] > 2499, row["price"] > 501) for row in rows("stock_trades")]

    # 2500 of 4999 quantities and 498 of 995 prices are beyond: halves, but for a part in a thousand.
    assert_uniform(quarters, [(large, dear) for large in (False, True) for dear in (False, True)])


def test_users_registered_within_one_year_at_any_time_of_it(rows: MakeRows) -> None:
    first, end = 1487715775521, 1519273364600
    times = [row["registertime"] for row in rows("users")]

    assert all(first <= time < end for time in times)
    assert_uniform(((time - first) * 100 // (end - first) for time in times), range(100))
    assert {row["key"] for row in rows("users")} == {f"User_{n}".encode() for n in range(1, 10)}


@pytest.mark.parametrize("topic", ["skyone", "sunset"])
def test_flights_depart_at_any_minute_of_a_year_that_begins_today(rows: MakeRows, topic: str) -> None:
    today = datetime(2026, 3, 5)
    since = [datetime.fromisoformat(row["departure_time"]) - today for row in rows(topic)]

    assert_uniform((time.days for time in since), range(365))
    assert_uniform((time.seconds for time in since), range(0, 86400, 60))


@pytest.mark.parametrize("topic", ["skyone", "sunset"])
def test_flights_arrive_elsewhere_when_their_duration_is_over(rows: MakeRows, topic: str) -> None:
    flights = [(row["departure_airport_code"], row["arrival_airport_code"]) for row in rows(topic)]
    late = [row for row in rows(topic) if arrival(row) != row["arrival_time"]]

    assert_uniform(flights, [(a, b) for a in AIRPORTS for b in AIRPORTS if a != b])
    assert late == []


def arrival(row: Row) -> str:
    departure = datetime.fromisoformat(row["departure_time"])
    return str(departure + timedelta(minutes=row["flight_duration"]))


@pytest.mark.parametrize(("topic", "prefix"), [("skyone", "SKY1"), ("sunset", "SUN")])
def test_codes_are_the_airlines_and_no_two_alike(rows: MakeRows, topic: str, prefix: str) -> None:
    codes = [row["confirmation_code"] for row in rows(topic)]

    assert all(re.fullmatch(f"{prefix}[A-Z]{{6}}", code) for code in codes)
    assert len(set(codes)) > 0.999 * len(codes)  # 26^6 codes: of 10,000, one pair in two samples is equal
    assert_uniform((code[-6:-5] for code in codes), [chr(n) for n in range(65, 91)])
    assert all(re.fullmatch("Aircraft[A-Z]{3}", row["aircraft"]) for row in rows(topic))


def test_there_are_100_passengers_of_a_seed_who_fly_with_both_airlines(rows: MakeRows) -> None:
    pool = addresses(CHANCE)
    flown = [{row["email_address"] for row in rows(topic)} for topic in ("skyone", "sunset")]

    assert len(set(pool)) == 100
    assert all(re.fullmatch("[A-Z]{5}@email[.]com", address) for address in pool)
    assert flown == [set(pool), set(pool)]
    assert addresses(Chance(12)) != pool


@pytest.mark.parametrize("topic", ["skyone", "sunset"])
def test_the_avro_twin_has_the_same_tickets_with_prices_to_the_cent(topic: str) -> None:
    """The source writes 1234 as 12.34: it takes the digits of the number for those of the cents."""
    ours, twins = decoded(topic, 500), decoded(f"{topic}_avro", 500)

    assert ours == twins
    assert all(500 <= twin["ticket_price"] < 1500 for twin in twins)
    assert {twin["ticket_price"].as_tuple().exponent for twin in twins} == {-2}
    assert isinstance(twins[0]["ticket_price"], Decimal)


def test_another_day_shifts_the_flights_and_nothing_else() -> None:
    tomorrow = Chance(CHANCE.seed, lambda: NOW + timedelta(days=1))
    ours, later = decoded("skyone", 50), decoded("skyone", 50, tomorrow)
    day = timedelta(days=1)

    for one, other in zip(ours, later, strict=True):
        times = {f: str(datetime.fromisoformat(one[f]) + day) for f in ("departure_time", "arrival_time")}
        assert other == one | times


@pytest.mark.parametrize("topic", GENERATORS)
@pytest.mark.parametrize("stopped", [1, 999, 1000, 2345])
def test_records_go_on_where_they_stopped(topic: str, stopped: int) -> None:
    state = state_of(topic)
    make = GENERATORS[topic].records

    whole = list(islice(make(CHANCE, state, Origin(3)), stopped + 20))[stopped:]
    rest = list(islice(make(CHANCE, state, Origin(3, stopped)), 20))

    assert rest == whole


@pytest.mark.parametrize("topic", GENERATORS)
def test_other_seeds_give_other_records(topic: str) -> None:
    state = state_of(topic)
    one, two = (
        [value for _, value, *_ in islice(GENERATORS[topic].records(Chance(seed), state, Origin()), 20)]
        for seed in (1, 2)
    )

    assert one != two
