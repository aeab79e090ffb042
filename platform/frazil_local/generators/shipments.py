"""Parcels on their way: a Protobuf message with a part of every kind; the key is the shipment's number."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from frazil_local.generators.generator import encoded, shipped_schema

CITIES = (("Bergen", "NO"), ("Oulu", "FI"), ("Kiruna", "SE"), ("Nuuk", "GL"), ("Yellowknife", "CA"))
STATUSES = ("PACKED", "ON_ITS_WAY", "DELIVERED")
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def _shipment(chance: random.Random) -> tuple[bytes, dict[str, Any]]:
    """Names of fields as Protobuf's own JSON has them."""
    number = f"S-{chance.randrange(1_000_000):06}"
    city, country = chance.choice(CITIES)
    updated = _FIRST + timedelta(milliseconds=chance.randrange(365 * 86_400_000))
    value: dict[str, Any] = {
        "shipmentId": number,
        "status": chance.choice(STATUSES),
        "updatedAt": updated.isoformat(),
        "destination": {"street": f"Harbour {chance.randrange(1, 200)}", "city": city, "country": country},
        "parcels": [_parcel(chance) for _ in range(chance.randrange(1, 4))],
        "labels": {"priority": chance.choice(("low", "high"))},
    }
    carrier = {"truck": f"T-{chance.randrange(100)}"} if chance.random() < 0.5 else {"flight": number[2:]}
    note = {"note": "Ring twice."} if chance.random() < 0.2 else {}
    return number.encode(), value | carrier | note


def _parcel(chance: random.Random) -> dict[str, Any]:
    return {
        "grams": chance.randrange(50, 30_000),
        "value": chance.randrange(100, 100_000) / 100,
        "fragile": chance.random() < 0.1,
    }


SHIPMENTS = encoded("shipments", shipped_schema("shipments.proto"), lambda _: _shipment, partitions=3)
