"""The Iceberg views that a table should have: its own columns, its newest records, and those of a user."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import SpecError
from frazil.formats.types import to_iceberg
from frazil.publishing.views.queries import CLEAN, CURRENT, clean_columns, clean_sql, current_sql
from frazil.quoting import double_quoted, quoted
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import name_of
from frazil.tables.spark.columns import fields_of
from frazil.tables.spark.faults import cause_line
from frazil.tables.spark.session import spark_errors, spark_name

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

SPARK, TRINO = "spark", "trino"
"""Dialects of SQL, as Iceberg's view spec names them."""

_OWN_TABLE = "table"
_IN_BRACES = re.compile(r"\{([a-z_]\w*)\}", re.ASCII)


@dataclass(frozen=True, slots=True)
class WantedView:
    """One view: its name, its query by dialect, and its columns; None where only Spark can tell them."""

    name: str
    queries: Mapping[str, str]
    schema: Schema | None
    of: Path | None = None  # the file of a user's own

    @property
    def comment(self) -> str:
        """What it says of itself to people."""
        return f"By Frazil, of {self.of.name}." if self.of else "By Frazil."


def view_names(spec: AnyTable, table: TableName) -> tuple[str, ...]:
    """What the views of a table are called; each begins with the table's name."""
    current = [CURRENT] if isinstance(spec, TableSpec) and spec.current_by else []
    own = [f"_{name}" for name in spec.views]
    return tuple(f"{table.table}{end}" for end in (CLEAN, *current, *own))


def wanted_views(spec: AnyTable, table: Table, settings: Settings) -> Iterator[WantedView]:
    """The views of a table, in the order of `view_names`."""
    name, columns = name_of(table), [field.name for field in table.schema().fields]
    relations = {SPARK: (quoted(name.table), quoted)}
    if trino := settings.rest.trino_catalog:
        relations[TRINO] = double_quoted(trino, *name.identifier), double_quoted

    def by_dialect(query: Callable[[str, Callable[[str], str]], str]) -> dict[str, str]:
        return {dialect: query(*places) for dialect, places in relations.items()}

    clean = by_dialect(lambda relation, quote: clean_sql(spec, relation, columns, quote))
    yield WantedView(f"{name.table}{CLEAN}", clean, _part(table, clean_columns(spec, columns)))
    if isinstance(spec, TableSpec) and spec.current_by:
        current = by_dialect(lambda relation, quote: current_sql(spec, relation, columns, quote))
        yield WantedView(f"{name.table}{CURRENT}", current, table.schema())
    for end, file in spec.views.items():
        query = _filled(file, name, lambda each: quoted(each.table))
        yield WantedView(f"{name.table}_{end}", {SPARK: query}, None, file)


def fingerprint(table: Table) -> str:
    """The same while a table has the same columns."""
    return hashlib.sha256(str(table.schema().as_struct()).encode()).hexdigest()[:16]


def schema_of(view: WantedView, table: TableName, connections: Connections) -> Schema:
    """The columns of a view; those of a user's own by Spark, which reads no row for it.

    Raises:
        SpecError: Spark can't run the query, or its columns are none that a view has.
    """
    from pyspark.errors import AnalysisException

    if view.schema is not None or view.of is None:
        return view.schema or to_iceberg(())
    query = _filled(view.of, table, spark_name)
    with spark_errors(connections.settings):
        try:
            # Within brackets, for what is no SELECT would be carried out.
            fields = fields_of(connections.spark.sql(f"SELECT * FROM (\n{query}\n)"))
        except AnalysisException as e:
            raise _refused(view.of, cause_line(str(e))) from None
    names = [field.name.lower() for field in fields]
    if twins := {name for name in names if names.count(name) > 1}:
        raise _refused(view.of, f"two columns are called {min(twins)}")
    return to_iceberg(fields)


def _part(table: Table, names: list[str]) -> Schema:
    from pyiceberg.schema import Schema

    return Schema(*(table.schema().find_field(name) for name in names))


def _filled(file: Path, table: TableName, relation: Callable[[TableName], str]) -> str:
    """The query of a file, with `{table}` and `{another}` as tables of its namespace."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise SpecError(f"{file}: can't be read: {e}") from None

    def named(match: re.Match[str]) -> str:
        own = match[1] == _OWN_TABLE
        return relation(table if own else TableName(table.namespace, match[1]))

    return _IN_BRACES.sub(named, text).strip().rstrip(";").rstrip()


def _refused(file: Path, why: str) -> SpecError:
    return SpecError(
        f"{file}: Spark can't make a view of it: {why}.",
        meaning="The table is right; this view is as it was before.",
        todo="Write one SELECT in Spark's SQL, with tables of the same namespace in braces: FROM {table}.",
    )
