"""Tickets of two airlines as the Flink kickstarter of the same author makes them up, as JSON and as Avro.

Their times are in UTC: the source writes each machine's own, and filters by another's.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, time, timedelta
from decimal import Decimal
from string import ascii_uppercase
from typing import Any

from frazil_local.generators.chance import Chance, Clock
from frazil_local.generators.generator import Make, Prepare, Values, encoded, shipped_schema

AIRPORTS = (
    "ATL", "DFW", "DEN", "ORD", "LAX", "CLT", "MCO", "LAS", "PHX", "MIA",
    "SEA", "IAH", "JFK", "EWR", "FLL", "MSP", "SFO", "DTW", "BOS", "SLC",
    "PHL", "BWI", "TPA", "SAN", "LGA", "MDW", "BNA", "IAD", "DCA", "AUS",
)  # fmt: skip

PASSENGERS = 100
CENT = Decimal("0.01")
"""Prices are whole dollars, with two digits behind the point: as many as the schema says."""

_TIME = "%Y-%m-%d %H:%M:%S"


def addresses(chance: Chance) -> tuple[str, ...]:
    """The passengers of one seed: both airlines fly the same people."""
    dice, addresses_made = chance.of("addresses"), dict[str, None]()
    while len(addresses_made) < PASSENGERS:
        addresses_made[f"{_capitals(dice, 5)}@email.com"] = None
    return tuple(addresses_made)


def ticket(dice: random.Random, prefix: str, pool: Sequence[str], clock: Clock) -> dict[str, Any]:
    """A ticket for a flight that departs within a year from the beginning of today."""
    start, end = dice.sample(AIRPORTS, 2)
    departure = datetime.combine(clock().date(), time()) + timedelta(minutes=dice.randrange(365 * 24 * 60))
    minutes = dice.randrange(60, 22 * 60)
    return {
        "email_address": dice.choice(pool),
        "departure_time": departure.strftime(_TIME),
        "departure_airport_code": start,
        "arrival_time": (departure + timedelta(minutes=minutes)).strftime(_TIME),
        "arrival_airport_code": end,
        "flight_duration": minutes,
        "flight_number": f"{prefix}{dice.randrange(1000)}",
        "confirmation_code": prefix + _capitals(dice, 6),
        "ticket_price": Decimal(dice.randrange(500, 1500)).quantize(CENT),
        "aircraft": "Aircraft" + _capitals(dice, 3),
        "booking_agency_email": dice.choice(pool),
    }


def _tickets(prefix: str) -> Prepare:
    """Tickets of the airline whose flights begin with the prefix; they have no key."""

    def prepare(chance: Chance) -> Make:
        pool = addresses(chance)

        def make(dice: random.Random) -> tuple[None, Values]:
            return None, ticket(dice, prefix, pool, chance.clock)

        return make

    return prepare


def _capitals(dice: random.Random, count: int) -> str:
    return "".join(dice.choices(ascii_uppercase, k=count))


_JSON, _AVRO = shipped_schema("ticket.json"), shipped_schema("ticket.avsc")


SKYONE = encoded("skyone", _JSON, _tickets("SKY1"), partitions=1)
SUNSET = encoded("sunset", _JSON, _tickets("SUN"), partitions=1)
SKYONE_AVRO = encoded("skyone_avro", _AVRO, _tickets("SKY1"), name="skyone", partitions=1)
SUNSET_AVRO = encoded("sunset_avro", _AVRO, _tickets("SUN"), name="sunset", partitions=1)
