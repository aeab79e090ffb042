"""What a table notes of fields that are decrypted: rows of before, and of after, hold something else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from frazil.formats.debezium.envelope import ROWS_AT
from frazil.formats.encryption.decoder import NotedDecoder, OpeningDecoder
from frazil.formats.protocol import Decoder

DECRYPTED = "decrypted"

_HIDDEN = ("redact", "drop")


def with_decrypted(
    marks: Mapping[str, str], dropped: Iterable[str], decoders: Iterable[Decoder]
) -> dict[str, str]:
    """The marks of masks, and of fields that are decrypted; of one that has both, both.

    Args:
        marks: By path.
        dropped: Paths of fields that become no column.
    """
    opened = {path for decoder in decoders for path in _opened(decoder)} - set(dropped)
    known = {path: marks.get(path, "") for path in opened if marks.get(path) not in _HIDDEN}
    return {**marks, **{path: f"{mark} {DECRYPTED}".strip() for path, mark in known.items()}}


def _opened(decoder: Decoder) -> Iterator[str]:
    """The paths in the table: of a change the row's, without what it is in."""
    if isinstance(decoder, OpeningDecoder):
        for path in decoder.opened:
            at = next((each for each in ROWS_AT if path.startswith(each)), "")
            yield path.removeprefix(at)
    elif isinstance(decoder, NotedDecoder):
        yield from _opened(decoder.inner)
