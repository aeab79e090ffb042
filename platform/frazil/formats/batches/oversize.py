"""Records with a part that is larger than Spark may be given: it is left out, and the record is bad.

The part is left out where Kafka is read, so that no memory has to hold it twice. A column of the records says
why, for a part that is not there could be taken for one that was never sent.
"""

from __future__ import annotations

from collections.abc import Mapping

from frazil.formats.protocol import Reason

TOO_LARGE = "too_large"
"""A column of records as they were read: null, or why a part of the record was left out."""

_CODES = {"key": "key_too_large", "value": "too_large", "headers": "headers_too_large"}
_SIZES = {
    "key": "octet_length(key)",
    "value": "octet_length(value)",
    # A lambda would be slower, and texts of bytes are these bytes.
    "headers": "CASE WHEN size(headers) > 0 THEN octet_length("
    "concat_ws('', headers.key, CAST(headers.value AS array<string>))) END",
}
_HELD = {"key": "raw_key", "value": "raw_value", "headers": "headers"}
_BETWEEN = ": "


def parts_sql(most: int) -> dict[str, str]:
    """The parts of a record of Kafka's by name, as SQL, and `TOO_LARGE`.

    Args:
        most: Bytes that the key, the value and all headers may each have.
    """
    cases = (f"WHEN {size} > {most} THEN {_reason_sql(part, size)}" for part, size in _SIZES.items())
    kept = {
        _HELD[part]: f"CASE WHEN {size} > {most} THEN NULL ELSE {part} END" for part, size in _SIZES.items()
    }
    return {**kept, TOO_LARGE: f"CASE {' '.join(cases)} END"}


def bounded(record: Mapping[str, object], sizes: Mapping[str, int], most: int) -> dict[str, object]:
    """The same of a record that was read by other means; `sizes` by the names of its parts."""
    large = {part: size for part, size in sizes.items() if size > most}
    text = next((f"{_CODES[p]}{_BETWEEN}{_words(p, f'{n:,}')}" for p, n in large.items()), None)
    return {**record, **{_HELD[part]: None for part in large}, TOO_LARGE: text}


def why_too_large(text: str) -> Reason:
    """Why a record is bad by its column `TOO_LARGE`."""
    code, _, words = text.partition(_BETWEEN)
    return code, words


def still_too_large(code: str, words: str, record: Mapping[str, object]) -> str | None:
    """`TOO_LARGE` of a record that was bad once; None where it has the part that it lacked."""
    part = next((part for part, own in _CODES.items() if own == code), None)
    return f"{code}{_BETWEEN}{words}" if part and record[_HELD[part]] is None else None


def is_too_large(code: str) -> bool:
    """Whether a reason's code is that of a part that is too large."""
    return code in _CODES.values()


def _reason_sql(part: str, size: str) -> str:
    before, after = _words(part, "\0").split("\0")
    return f"concat('{_CODES[part]}{_BETWEEN}{before}', format_number({size}, 0), '{after}')"


def _words(part: str, size: str) -> str:
    have = "have" if part == "headers" else "has"
    return f"the {part} {have} {size} bytes, more than FRAZIL_SPARK__MAX_RECORD_BYTES allows"
