"""All generators, by the topic that each writes to."""

from __future__ import annotations

from frazil.local.generators.airlines import FLIGHT_AVRO, SKYONE
from frazil.local.generators.generator import Generator
from frazil.local.generators.shipments import SHIPMENTS
from frazil.local.generators.stock_trades import STOCK_TRADES

__all__ = ["GENERATORS"]

GENERATORS: dict[str, Generator] = {g.topic: g for g in (STOCK_TRADES, SKYONE, FLIGHT_AVRO, SHIPMENTS)}
