"""A bucket, or a folder of one, that lies elsewhere now: where each file is, by the path of before."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from frazil.errors import UsageError

if TYPE_CHECKING:
    from pyiceberg.io import FileIO, InputFile

_PAIR = re.compile(r"(\w+://[^=].*?)/*=(\w+://.+?)/*")
_S3 = re.compile("^s3[an]://")


@dataclass(frozen=True)
class Moves:
    """Old prefixes, and the new one of each. A path below none of them stays as it is."""

    pairs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Self:
        """Reads `s3://old/prefix=s3://new/prefix`.

        Raises:
            UsageError: One of them is no such pair.
        """
        return cls(tuple(map(_pair, texts)))

    def to(self, path: str) -> str:
        """Where a file, or a folder, is now."""
        plain = _S3.sub("s3://", path)
        for old, new in self.pairs:
            if plain == old or plain.startswith(f"{old}/"):
                return new + plain[len(old) :]
        return path

    def within(self, document: Any) -> Any:
        """A document of JSON in which each text that is an old path is the new one."""
        match document:
            case dict():
                return {name: self.within(value) for name, value in document.items()}
            case list():
                return [self.within(value) for value in document]
            case str():
                return self.to(document)
        return document


UNMOVED = Moves()
"""All files are where their tables say."""


class MovedFiles:
    """Opens files where they are now, by the paths that a table has of them: PyIceberg's FileIO, to read."""

    def __init__(self, io: FileIO, moves: Moves) -> None:
        self._io, self._moves = io, moves
        self.properties = io.properties

    def new_input(self, location: str) -> InputFile:
        """See `FileIO.new_input`."""
        return self._io.new_input(self._moves.to(location))


def _pair(text: str) -> tuple[str, str]:
    pair = _PAIR.fullmatch(text)
    if not pair or f"{pair[2]}/".startswith(f"{pair[1]}/"):
        raise UsageError(
            f"--moved {text!r} names no two places of which the new one lies outside of the old.",
            todo="Write --moved s3://old/prefix=s3://new/prefix.",
        )
    return _S3.sub("s3://", pair[1]), pair[2]
