"""Days and moments that are written as text, by ISO 8601: docs/json.md, "List the fields"."""

from __future__ import annotations

import re
from datetime import date, datetime

from frazil_verify.values.bad import BadRecordError

_DAY = "([0-9]{4})-([0-9]{2})-([0-9]{2})"
_LOCAL = f"{_DAY}T([0-9]{{2}}):([0-9]{{2}}):([0-9]{{2}})(?:[.]([0-9]{{1,9}}))?"
_ZONE = "(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
_EPOCH = date(1970, 1, 1).toordinal()
_MINUTE, _FARTHEST = 60_000_000, 18 * 60  # of a zone, in minutes


def day(text: str) -> int:
    """Days since 1970 of `2026-11-26`; raises BadRecordError for any other text."""
    return _days(_parts(_DAY, text))


def local_moment(text: str) -> int:
    """Microseconds since 1970 of `2026-11-26T10:00:00`; digits behind the microseconds are cut."""
    return _micros(_parts(_LOCAL, text))


def zoned_moment(text: str) -> int:
    """The same of `2026-11-26T10:00:00+01:00`, of which the zone is taken away."""
    *local, sign, hours, minutes = _parts(_LOCAL + _ZONE, text)
    if sign is None:
        return _micros(local)
    ahead = int(hours or 0) * 60 + int(minutes or 0)
    if int(minutes or 0) > 59 or ahead > _FARTHEST:
        raise BadRecordError("a zone that is too far away")
    return _micros(local) - (ahead if sign == "+" else -ahead) * _MINUTE


def _parts(form: str, text: str) -> list[str | None]:
    match = re.fullmatch(form, text)
    if match is None:
        raise BadRecordError("no such text by ISO 8601")
    return [*match.groups()]


def _days(parts: list[str | None]) -> int:
    year, month, number = (int(part or 0) for part in parts[:3])
    try:
        return date(year, month, number).toordinal() - _EPOCH
    except ValueError as e:
        raise BadRecordError("a day that no calendar has") from e


def _micros(parts: list[str | None]) -> int:
    hour, minute, second = (int(part or 0) for part in parts[3:6])
    try:
        datetime(2000, 1, 1, hour, minute, second)
    except ValueError as e:
        raise BadRecordError("a time that no day has") from e
    fraction = int((parts[6] or "").ljust(6, "0")[:6])
    return ((_days(parts) * 24 + hour) * 60 + minute) * _MINUTE + second * 1_000_000 + fraction
