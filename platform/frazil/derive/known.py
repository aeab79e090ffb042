"""What is known of all tables before any server is asked, and the queries checked against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frazil.derive.columns import Column
from frazil.derived_spec import DerivedSpec
from frazil.naming import TableName
from frazil.pipelines import Pipeline
from frazil.settings import Settings

__all__ = ["check_queries", "in_order", "known_tables"]


def in_order(pipelines: Sequence[Pipeline], settings: Settings) -> tuple[DerivedSpec, ...]:
    """The derived tables of all pipelines, each after those that it reads.

    Raises:
        SpecError: One reads itself, by whatever way.
    """
    raise NotImplementedError


def known_tables(
    pipelines: Sequence[Pipeline], settings: Settings
) -> Mapping[TableName, Sequence[Column] | None]:
    """The columns of every table, or None where only a server knows them.

    Raises:
        SpecError: A query can't be understood, or names a column that its input has not.
    """
    raise NotImplementedError


def check_queries(pipelines: Sequence[Pipeline], settings: Settings) -> None:
    """Refuses pipelines whose queries can't be run, or not by the kind of their table.

    Raises:
        SpecError: Every mistake of every query, with its file and line.
    """
    raise NotImplementedError
