"""Days, and moments without a zone, that are written as text, by ISO 8601: `2026-11-26T10:00:00`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from frazil.formats.batches.zoned import is_moment, moments_or_bad

if TYPE_CHECKING:
    import pyarrow as pa

    from frazil.formats.batches.rows import Rows

_UTC, _MIDNIGHT = "Z", "T00:00:00Z"
"""What makes a moment with a zone of a moment without one, and of a day; of any other text they make none."""


def is_local_moment(text: str) -> bool:
    """Whether a text is a moment without a zone."""
    return is_moment(text + _UTC)


def is_day(text: str) -> bool:
    """Whether a text is a day."""
    return is_moment(text + _MIDNIGHT)


def local_moments_or_bad(texts: pa.StringArray, rows: Rows) -> pa.TimestampArray:
    """The moments of texts; a record with any other text is bad."""
    import pyarrow as pa

    return _with(texts, _UTC, rows).cast(pa.timestamp("us"))


def days_or_bad(texts: pa.StringArray, rows: Rows) -> pa.Date32Array:
    """The days of texts; a record with any other text is bad."""
    import pyarrow as pa

    return _with(texts, _MIDNIGHT, rows).cast(pa.date32())


ARE_ISO: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "zoned": (is_moment, "moment with a zone"),
    "local": (is_local_moment, "moment without a zone"),
    "day": (is_day, "day"),
}
"""Whether a text is one, and what that is, by how JSON writes it."""


def _with(texts: pa.StringArray, end: str, rows: Rows) -> pa.TimestampArray:
    import pyarrow.compute as pc

    return moments_or_bad(pc.binary_join_element_wise(texts, end, ""), rows)
