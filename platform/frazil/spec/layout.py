"""How a table's files are written and sorted."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import ByteSize, Field, model_validator

from frazil.spec.values import Part

__all__ = ["SortTerm", "Write", "sort_term"]

_SORT = re.compile(
    r"(?P<column>[\w$.-]+)(?:\s+(?P<way>asc|desc))?(?:\s+nulls\s+(?P<nulls>first|last))?", re.IGNORECASE
)
_ZORDER = re.compile(r"zorder\((?P<columns>[\w$.-]+(?:\s*,\s*[\w$.-]+)+)\)", re.IGNORECASE)


class Write(Part):
    """How data files are written. A change holds for new files, and for old ones once rewritten."""

    target_file_size: ByteSize = Field(ByteSize(128 * 2**20), ge=1, description="Size of data files.")
    row_group_size: ByteSize = Field(ByteSize(128 * 2**20), ge=1, description="Most bytes of a row group.")
    page_size: ByteSize = Field(ByteSize(2**20), ge=1, description="Most bytes of a page.")
    compression: Literal["zstd", "snappy", "gzip", "lz4", "uncompressed"] = Field(
        "zstd", description="Codec of data files."
    )
    compression_level: int | None = Field(
        None, ge=1, le=22, description="Level of zstd: 1 is quick; default: 3."
    )
    distribution: Literal["none", "hash", "range"] = Field(
        "none", description="Shuffle before writing: none, by partition, or by range of the sort order."
    )

    @model_validator(mode="after")
    def _levelled(self) -> Self:
        if self.compression_level is not None and self.compression != "zstd":
            raise ValueError(f"compression_level is a level of zstd; {self.compression} has none here")
        return self


class SortTerm(Part):
    """One term of a sort order: a column, or several on a z-order curve."""

    columns: tuple[str, ...]
    zorder: bool = False
    ascending: bool = True
    nulls_first: bool = True


def sort_term(text: str) -> SortTerm:
    """`column [asc|desc] [nulls first|last]`, or `zorder(a, b)`; nulls are least, as in Spark.

    Raises:
        ValueError: It is neither.
    """
    if curve := _ZORDER.fullmatch(text.strip()):
        return SortTerm(columns=tuple(c.strip() for c in curve["columns"].split(",")), zorder=True)
    plain = _SORT.fullmatch(text.strip())
    if plain is None:
        raise ValueError(
            f"{text!r} is no sort term; write column [asc|desc] [nulls first|last] or zorder(a, b)"
        )
    ascending = (plain["way"] or "asc").lower() == "asc"
    nulls_first = plain["nulls"].lower() == "first" if plain["nulls"] else ascending
    return SortTerm(columns=(plain["column"],), ascending=ascending, nulls_first=nulls_first)
