"""Flights with an Avro key, whose fields are the value's, too, as Flink writes them; made of tickets."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from frazil.formats.registry.wanted import WantedSchema
from frazil_local.generators.airline import addresses, ticket
from frazil_local.generators.chance import Chance
from frazil_local.generators.generator import Make, encoded

__all__ = ["FLIGHTS"]

KEY = """{
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

VALUE = """{
  "type": "record",
  "name": "FlightAvroData",
  "namespace": "kickstarter.model",
  "fields": [
    {"name": "email_address", "type": "string"},
    {"name": "departure_time", "type": "string"},
    {"name": "departure_airport_code", "type": "string"},
    {"name": "arrival_time", "type": "string"},
    {"name": "arrival_airport_code", "type": "string"},
    {"name": "flight_number", "type": "string"},
    {"name": "confirmation_code", "type": "string"},
    {"name": "airline", "type": "string"}
  ]
}
"""

_DROPPED = ("flight_duration", "ticket_price", "aircraft", "booking_agency_email")


def _flights(chance: Chance) -> Make:
    pool = addresses(chance)

    def make(dice: random.Random) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        prefix, airline = dice.choice((("SKY1", "SkyOne"), ("SUN", "Sunset")))
        booked = ticket(dice, prefix, pool, chance.clock)
        value = {name: part for name, part in booked.items() if name not in _DROPPED}
        key = {name: value[name] for name in ("departure_airport_code", "flight_number")}
        return key, value | {"airline": airline}

    return make


_VALUE, _KEY = WantedSchema("AVRO", VALUE), WantedSchema("AVRO", KEY)
FLIGHTS = encoded("flights", _VALUE, _flights, key=_KEY, partitions=1)
