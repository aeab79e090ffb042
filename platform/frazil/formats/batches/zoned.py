"""Moments with a zone that are written as text, by ISO 8601: what Debezium calls ZonedTimestamp."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from frazil.exact import flags_of, values_of

if TYPE_CHECKING:
    import pyarrow as pa

    from frazil.formats.batches.rows import Rows

ZONED = "frazil-zoned"
"""Avro's logical type, and JSON Schema's title, that `formats.debezium` gives to such a text."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FARTHEST = timedelta(hours=18)
"""Of a zone from UTC, as Java knows zones."""

_DAY, _TIME = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?"
_FORM = f"^{_DAY}T{_TIME}(Z|[+-][0-9]{{2}}:[0-5][0-9])$"
_USUAL = (
    "^(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-[0-9]{2}-[0-9]{2}"
    "T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?"
    "(Z|[+-](0[0-9]|1[0-7]):[0-5][0-9])$"
)
"""Texts that PyArrow reads as `micros` does, or refuses."""


def is_moment(text: str) -> bool:
    """Whether a text is one."""
    return micros(text) is not None


def micros(text: str) -> int | None:
    """Microseconds since 1970, None where the text is no moment; digits behind the microseconds are cut."""
    try:
        moment = datetime.fromisoformat(text) if re.match(_FORM, text) else None
    except ValueError:
        return None
    if moment is None or abs(moment.utcoffset() or timedelta()) > _FARTHEST:
        return None
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moments(texts: pa.StringArray) -> pa.TimestampArray:
    """The moments of texts, null where one is none: as `micros`, most of them at once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, usual = pa.timestamp("us", "UTC"), pc.match_substring_regex(texts, _USUAL)
    try:
        parsed = pc.if_else(usual, texts, None).cast(kind)
    except pa.ArrowInvalid:  # one of them is of no day, or of no time
        return pa.array(map(_micros, values_of(texts)), kind)
    others = pc.invert(usual.fill_null(True))
    if not others.true_count:
        return parsed
    return pc.replace_with_mask(parsed, others, pa.array(map(_micros, values_of(texts.filter(others))), kind))


def moments_or_bad(texts: pa.StringArray, rows: Rows) -> pa.TimestampArray:
    """The same; a record with any other text is bad."""
    parsed = moments(texts)
    rows.spoil(flags_of(parsed.is_null()) & flags_of(texts.is_valid()))
    return parsed


def _micros(text: str | None) -> int | None:
    return None if text is None else micros(text)
