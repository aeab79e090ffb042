"""Tickets of an airline, whose times are texts without a zone; and flights that are over, or yet to come."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from frazil.connections import Connections

NOW = datetime(2026, 3, 5, 12, tzinfo=UTC)
SOON, LATER = "2026-03-05 12:01:00", "2026-03-06 09:30:00"

TEXTS = (
    "email_address", "departure_time", "departure_airport_code", "arrival_time", "arrival_airport_code",
    "flight_number", "confirmation_code",
)  # fmt: skip
DROPPED = "flight_duration bigint, ticket_price decimal(10, 2), aircraft string, booking_agency_email string"

Case = tuple[str, str | None, str | None, str | None]
"""Confirmation code, address, departure and arrival of a ticket."""


def tickets(connections: Connections, cases: Sequence[Case]) -> Any:
    texts = ", ".join(f"{name} string" for name in TEXTS)
    values = [
        (email, departure, "ATL", arrival, "OSL", "SKY17", code, 60, None, "AircraftABC", "a@b.c", NOW)
        for code, email, departure, arrival in cases
    ]
    schema = f"{texts}, {DROPPED}, `$$timestamp` timestamp"
    return connections.spark.createDataFrame(values, schema)


ARRIVALS = [
    ("a second ago", "2026-03-05 11:59:59", False),
    ("now", "2026-03-05 12:00:00", False),
    ("in a second", "2026-03-05 12:00:01", True),
    ("in a minute", "2026-03-05 12:01:00", True),
    ("yesterday", "2026-03-04 23:00:00", False),
]
"""Names of tickets, when they arrive, and whether that is after `NOW`."""


def coming() -> list[Case]:
    """The tickets of `ARRIVALS`."""
    return [(name, "a@x", "2026-03-05 08:00:00", at) for name, at, _ in ARRIVALS]
