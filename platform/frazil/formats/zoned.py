"""Moments with a zone that are written as text, by ISO 8601: what Debezium calls ZonedTimestamp."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from frazil.quoting import literal

ZONED = "frazil-zoned"
"""Avro's logical type, and JSON Schema's title, that `formats.debezium` gives to such a text."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FARTHEST = timedelta(hours=18)
"""Of a zone from UTC, as Java knows zones."""

_DAY, _TIME = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?"
_FORM = f"^{_DAY}T{_TIME}(Z|[+-][0-9]{{2}}:[0-9]{{2}})$"


def moment(x: str) -> str:
    """The moment as SQL, null where the text is none; digits behind the microseconds are cut."""
    return f"CASE WHEN {x} RLIKE {literal(_FORM)} THEN try_cast({x} AS timestamp) END"


def is_moment(text: str) -> bool:
    """Whether a text is one."""
    return micros(text) is not None


def micros(text: str) -> int | None:
    """Microseconds since 1970, None where the text is no moment; digits behind the microseconds are cut."""
    try:
        found = datetime.fromisoformat(text) if re.match(_FORM, text) else None
    except ValueError:
        return None
    if found is None or abs(found.utcoffset() or timedelta()) > _FARTHEST:
        return None
    return (found - _EPOCH) // timedelta(microseconds=1)
