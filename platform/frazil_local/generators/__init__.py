"""Made-up records for real topics, and a fast way to produce any: all generators, by topic."""

from __future__ import annotations

from frazil_local.generators.airline import SKYONE, SKYONE_AVRO, SUNSET, SUNSET_AVRO
from frazil_local.generators.datagen import STOCK_TRADES, USERS
from frazil_local.generators.generator import Generator
from frazil_local.generators.shipments import SHIPMENTS

_ALL = (STOCK_TRADES, USERS, SKYONE, SUNSET, SKYONE_AVRO, SUNSET_AVRO, SHIPMENTS)

GENERATORS: dict[str, Generator] = {generator.topic: generator for generator in _ALL}
