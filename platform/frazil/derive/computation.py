"""What makes the rows of a derived table: a query, or a Python function."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from frazil.derive.positions.ledger import DerivedLedger
from frazil.derive.queries.legality import refuse_unfit, unfollowed
from frazil.derive.queries.query import NOW, Query, function_code, names_now, read_query
from frazil.errors import SpecError
from frazil.spec.derived import DerivedSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Frames = Mapping[str, "DataFrame"]
"""Rows of each input, by the name that the user gave it."""


@dataclass(frozen=True)
class Computation:
    """How the rows of a derived table are made."""

    spec: DerivedSpec
    inputs: tuple[str, ...]  # names of the tables that are read, as the user wrote them
    uses_now: bool  # whether the clock has a say
    query: Query | None  # None where a function makes the rows
    code: str  # fingerprint of the query or the function alone

    @property
    def fingerprint(self) -> str:
        """Stays the same as long as equal inputs make equal rows."""
        spec = self.spec
        window = (spec.window.start, spec.window.length.total_seconds()) if spec.window else None
        parts = [
            spec.kind, self.code, dict(sorted(spec.parameters.items())), spec.key, spec.latest_by, window,
            spec.cumulative_by, *([spec.inputs] if spec.python else []),
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def follows(self, ledger: DerivedLedger) -> bool:
        """Whether rows that change in an input can be followed in a table with that ledger."""
        return not ledger.mixed and not unfollowed(self.spec, uses_now=self.uses_now)

    @contextmanager
    def rows_over(self, spark: SparkSession, frames: Frames, now: float) -> Iterator[DataFrame]:
        """The rows made of those of the inputs; valid as long as the context is open.

        A function is told the clock as the parameter `now`.
        """
        known = {**self.spec.parameters, NOW: datetime.fromtimestamp(now, UTC)}
        if self.query is None:
            assert self.spec.python
            yield _function(self.spec.python)(dict(frames), known)
            return
        # Several derivations share a session, so the names of views are nobody else's.
        views = {name: f"frazil_{token_hex(8)}" for name in frames}
        try:
            for name, frame in frames.items():
                frame.createOrReplaceTempView(views[name])
            named = [*self.query.parameters, *([NOW] if self.uses_now else [])]
            yield spark.sql(self.query.sql_over(views), args={name: known[name] for name in named})
        finally:
            for view in views.values():
                spark.catalog.dropTempView(view)


def computation_of(spec: DerivedSpec) -> Computation:
    """The query or the function that a spec names.

    Raises:
        SpecError: The file can't be understood, or its query is none for the spec's kind.
    """
    if spec.python:
        code = hashlib.sha256(function_code(spec)).hexdigest()
        return Computation(spec, spec.inputs, names_now(spec), None, code)
    query = read_query(spec)
    refuse_unfit(query, spec)
    return Computation(spec, query.inputs, query.uses_now, query, query.fingerprint)


def _function(file: Path) -> Any:
    """The function `derive(inputs, parameters) -> DataFrame` of a file."""
    spec = importlib.util.spec_from_file_location(f"frazil_derive_{token_hex(8)}", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, "derive", None)
    if not callable(function):
        raise SpecError(f"{file}: there is no function derive(inputs, parameters) in it")
    return function
