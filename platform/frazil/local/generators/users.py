"""Users as Confluent's Datagen connector makes them (quickstart USERS): nine, who come again and again.

The key is the user's id.
"""

from __future__ import annotations

import random
from typing import Any

from frazil.formats.subjects import WantedSchema
from frazil.local.generators.encode import encoded
from frazil.local.generators.generator import Generator

__all__ = ["USERS"]

SCHEMA = """{
  "type": "record",
  "name": "users",
  "namespace": "ksql",
  "doc": "A user, as it stood when the record was written.",
  "fields": [
    {"name": "registertime", "type": "long", "doc": "Milliseconds since 1970."},
    {"name": "userid", "type": "string"},
    {"name": "regionid", "type": "string"},
    {"name": "gender", "type": "string", "doc": "MALE, FEMALE or OTHER."}
  ]
}
"""

REGISTERED = range(1487715775521, 1519273364600)
"""From February 2017 to February 2018."""

GENDERS = ("MALE", "FEMALE", "OTHER")


def _user(dice: random.Random) -> tuple[bytes, dict[str, Any]]:
    userid = f"User_{dice.randrange(1, 10)}"
    return userid.encode(), {
        "registertime": dice.choice(REGISTERED),
        "userid": userid,
        "regionid": f"Region_{dice.randrange(1, 10)}",
        "gender": dice.choice(GENDERS),
    }


_VALUE = WantedSchema("AVRO", SCHEMA)
USERS = Generator("users", _VALUE, encoded("users", lambda _: _user, _VALUE))
