"""The seam between formats and landings: what every decoder must do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from frazil.formats.logical import Struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["KEY", "VALUE", "Decoder", "Half", "Reason"]

Reason = tuple[str, str]
"""Why a record is bad: a code for machines, words for people."""


@dataclass(frozen=True, slots=True)
class Half:
    """The key or the value of a record, and the columns that its decoder reads and adds."""

    word: Literal["key", "value"]

    @property
    def raw(self) -> str:
        """The bytes, as Kafka holds them; null where the record has none."""
        return f"raw_{self.word}"

    @property
    def data(self) -> str:
        """The decoded struct, of the decoder's `columns`."""
        return f"_{self.word}"

    @property
    def ok(self) -> str:
        """Whether the bytes were decoded, all of them; never null, and false where there are none."""
        return f"_{self.word}_ok"

    @property
    def writer(self) -> str:
        """Who wrote it: an index into the decoder's `writers`, or null."""
        return f"_{self.word}_writer"


KEY, VALUE = Half("key"), Half("value")


class Decoder(Protocol):
    """Decodes keys or values of one topic, each with the schema that it was written with."""

    @property
    def writers(self) -> tuple[int, ...]:
        """Schema ids, by the index that `Half.writer` holds; empty where the format has none."""

    @property
    def columns(self) -> Struct:
        """The columns that one half becomes, whoever wrote it."""

    def decode(self, frame: DataFrame, half: Half) -> DataFrame:
        """Adds `half.data`, `half.ok` and `half.writer` to a frame that has `half.raw`.

        A filter must not follow directly: Spark would push it below, and decode twice.
        """

    def explain(self, raw: bytes) -> Reason:
        """Why `decode` found these bytes bad. By an independent decoder; slow, for bad records only."""
