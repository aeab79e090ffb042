"""What one task sees of the spec's checks. Imports PyArrow only, for Spark's workers."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import Counter, defaultdict
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from frazil.errors import printable
from frazil.exact import shown, values_of
from frazil.expressions.aggregates import combined, partial
from frazil.expressions.arrow import Rows
from frazil.formats.checks.batch import ArrowChecks, Asked, Judged, names_in
from frazil.tables.writing.task import packed, unpacked

Flags = NDArray[np.bool_]

SHOWN = 5
"""Rows that are named of each check."""

_LONGEST = 60
"""Signs of a key's value that are shown."""

_AT_ONCE = 32
"""Batches of which the parts wait before they are put together."""


class Seen(Protocol):
    """Rows of a batch, and what checks of single rows say of them."""

    @property
    def ok(self) -> Flags:
        """Those that are written."""

    @property
    def judged(self) -> Judged | None:
        """What checks say; None where there are none."""

    def columns_of(self, chosen: Flags, names: frozenset[str] | None = None) -> dict[str, pa.Array]:
        """Some columns of some rows."""


class CheckTally:
    """Counts what checks say of the records of one task."""

    def __init__(self, checks: ArrowChecks) -> None:
        self._checks = checks
        self._rows = 0
        self._failing: Counter[str] = Counter()
        self._shown: dict[str, list[list[Any]]] = defaultdict(list)
        self._parts: dict[str, list[pa.RecordBatch]] = defaultdict(list)

    def add(self, verdicts: Seen, *place: pa.Array) -> None:
        """Takes in a batch, with the places of its records where they have any."""
        judged = verdicts.judged
        if judged is None:
            return
        self._rows += int(judged.rows.sum())
        for name, failing in judged.failing.items():
            if failing.any():
                self._failing[name] += int(failing.sum())
                self._show(name, np.flatnonzero(failing), verdicts, place)
        for each in self._checks.of_landings:
            self._aggregate(each, verdicts, judged)

    def report(self) -> str:
        """All of it as one text."""
        parts = {name: b64encode(packed(combined(own))).decode() for name, own in self._parts.items()}
        return json.dumps(
            {"rows": self._rows, "failing": self._failing, "shown": self._shown, "parts": parts}
        )

    def _aggregate(self, asked: Asked, verdicts: Seen, judged: Judged) -> None:
        coming = judged.rows & verdicts.ok
        columns = verdicts.columns_of(coming, names_in((asked,)))
        own = self._parts[asked.name]
        own.append(partial(asked.expression.aggregates, Rows(columns, int(coming.sum()), self._checks.now)))
        if len(own) > _AT_ONCE:
            own[:] = [combined(own)]

    def _show(self, name: str, places: Any, verdicts: Seen, record: tuple[pa.Array, ...]) -> None:
        """Names the first rows that fail: where their records stand, and their keys."""
        first = places[: SHOWN - len(self._shown[name])]
        if not len(first):
            return
        chosen = np.zeros(len(verdicts.ok), bool)
        chosen[first] = True
        keys = verdicts.columns_of(chosen, frozenset(self._checks.shown))
        texts = [[f"{own} = {_glimpse(value)}" for value in shown(keys[own])] for own in keys]
        taken = (values_of(column.take(pa.array(first))) for column in record)
        rows = [", ".join(row) for row in zip(*texts, strict=True)] or [""] * len(first)
        self._shown[name] += [[*row] for row in zip(*taken, rows, strict=True)]


def _glimpse(value: Any) -> str:
    """A key's value; of bytes only how many they are, for nobody has decoded them."""
    text = f"{len(value):,} bytes" if isinstance(value, bytes) else printable(str(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def parts_of(report: dict[str, Any], name: str) -> list[pa.Table]:
    """What a task says of the aggregates of a check; nothing where it saw no record."""
    text = report["parts"].get(name)
    return [unpacked(b64decode(text))] if text else []
