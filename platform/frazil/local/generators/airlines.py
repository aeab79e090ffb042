"""Airlines as the Flink kickstarter of the same author as the trades makes them up: tickets, and flights."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime, time, timedelta
from string import ascii_uppercase
from typing import Any

from frazil.local.generators.encode import encoded
from frazil.local.generators.generator import Generator
from frazil.schemas.subjects import WantedSchema

__all__ = ["FLIGHT_AVRO", "SKYONE"]

AIRPORTS = (
    "ATL", "DFW", "DEN", "ORD", "LAX", "CLT", "MCO", "LAS", "PHX", "MIA",
    "SEA", "IAH", "JFK", "EWR", "FLL", "MSP", "SFO", "DTW", "BOS", "SLC",
    "PHL", "BWI", "TPA", "SAN", "LGA", "MDW", "BNA", "IAD", "DCA", "AUS",
)  # fmt: skip
AIRLINES = (("SKY1", "SkyOne"), ("SUN", "Sunset"))
"""The prefix of their flights, and their names."""

_TIME = "%Y-%m-%d %H:%M:%S"
_FLIGHT = (
    "email_address", "departure_time", "departure_airport_code", "arrival_time",
    "arrival_airport_code", "flight_number", "confirmation_code",
)  # fmt: skip
"""What a flight takes over from a ticket."""

TICKET = """{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "title": "AirlineData",
  "description": "A flight that somebody booked.",
  "type": "object",
  "properties": {
    "email_address": {"type": "string", "description": "Who flies.", "connect.index": 0},
    "departure_time": {"type": "string", "description": "Local time.", "connect.index": 1},
    "departure_airport_code": {"type": "string", "connect.index": 2},
    "arrival_time": {"type": "string", "description": "Local time.", "connect.index": 3},
    "arrival_airport_code": {"type": "string", "connect.index": 4},
    "flight_duration": {"type": "integer", "description": "Minutes.", "connect.index": 5},
    "flight_number": {"type": "string", "connect.index": 6},
    "confirmation_code": {"type": "string", "connect.index": 7},
    "ticket_price": {"type": "number", "description": "US dollars.", "connect.index": 8},
    "aircraft": {"type": "string", "connect.index": 9},
    "booking_agency_email": {"type": "string", "connect.index": 10}
  },
  "required": ["flight_duration"]
}
"""

FLIGHT = """{
  "type": "record",
  "name": "FlightAvroData",
  "namespace": "kickstarter.model",
  "doc": "A flight of any airline.",
  "fields": [
    {"name": "email_address", "type": "string", "doc": "Who flies."},
    {"name": "departure_time", "type": "string", "doc": "Local time."},
    {"name": "departure_airport_code", "type": "string"},
    {"name": "arrival_time", "type": "string", "doc": "Local time."},
    {"name": "arrival_airport_code", "type": "string"},
    {"name": "flight_number", "type": "string"},
    {"name": "confirmation_code", "type": "string"},
    {"name": "airline", "type": "string", "doc": "SkyOne or Sunset."}
  ]
}
"""

FLIGHT_KEY = """{
  "type": "record",
  "name": "FlightKey",
  "namespace": "kickstarter.model",
  "doc": "What the flights of a topic are distributed by.",
  "fields": [
    {"name": "departure_airport_code", "type": "string"},
    {"name": "flight_number", "type": "string"}
  ]
}
"""


def ticket(chance: random.Random, prefix: str = "SKY1") -> dict[str, Any]:
    """A ticket for a flight within a year from today."""
    start, end = chance.sample(AIRPORTS, 2)
    today = datetime.combine(datetime.now().date(), time())
    departure = today + timedelta(minutes=chance.randrange(365 * 24 * 60))
    minutes = chance.randrange(60, 1320)
    return {
        "email_address": _email(chance),
        "departure_time": departure.strftime(_TIME),
        "departure_airport_code": start,
        "arrival_time": (departure + timedelta(minutes=minutes)).strftime(_TIME),
        "arrival_airport_code": end,
        "flight_duration": minutes,
        "flight_number": f"{prefix}{chance.randrange(1000)}",
        "confirmation_code": prefix + _capitals(chance, 6),
        "ticket_price": float(chance.randrange(500, 1500)),
        "aircraft": "Aircraft" + _capitals(chance, 3),
        "booking_agency_email": _email(chance),
    }


def _ticket(chance: random.Random) -> tuple[None, Mapping[str, Any]]:
    """Tickets have no key."""
    return None, ticket(chance)


def _flight(chance: random.Random) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The key's fields are the value's, too, as Flink's topics have them."""
    prefix, airline = chance.choice(AIRLINES)
    booked = ticket(chance, prefix)
    value = {name: booked[name] for name in _FLIGHT} | {"airline": airline}
    return {name: value[name] for name in ("departure_airport_code", "flight_number")}, value


def _email(chance: random.Random) -> str:
    return f"{_capitals(chance, 1)}{chance.randrange(100):02}@email.com"


def _capitals(chance: random.Random, count: int) -> str:
    return "".join(chance.choices(ascii_uppercase, k=count))


_SKYONE = WantedSchema("JSON", TICKET)
SKYONE = Generator("skyone", _SKYONE, encoded(_ticket, _SKYONE), partitions=1)

_VALUE, _KEY = WantedSchema("AVRO", FLIGHT), WantedSchema("AVRO", FLIGHT_KEY)
FLIGHT_AVRO = Generator("flight_avro", _VALUE, encoded(_flight, _VALUE, _KEY), _KEY, partitions=1)
