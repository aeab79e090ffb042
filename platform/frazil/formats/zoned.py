"""Moments with a zone that are written as text, by ISO 8601: what Debezium calls ZonedTimestamp."""

from __future__ import annotations

import re
from datetime import datetime

from frazil.quoting import literal

ZONED = "frazil-zoned"
"""Avro's logical type, and JSON Schema's title, that `formats.debezium` gives to such a text."""

_DAY, _TIME = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?"
_FORM = f"^{_DAY}T{_TIME}(Z|[+-][0-9]{{2}}:[0-9]{{2}})$"


def moment(x: str) -> str:
    """The moment as SQL, null where the text is none; digits behind the microseconds are cut."""
    return f"CASE WHEN {x} RLIKE {literal(_FORM)} THEN try_cast({x} AS timestamp) END"


def is_moment(text: str) -> bool:
    """Whether a text is one."""
    try:
        return bool(re.match(_FORM, text)) and datetime.fromisoformat(text) is not None
    except ValueError:
        return False
