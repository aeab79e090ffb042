"""Private names of PyIceberg, but for those of commits and rewrites: an upgrade that moves one ends here.

`tests/unit/tables/test_private_names.py` lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyiceberg.catalog.rest import RestCatalog
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.manifest import DataFile, ManifestFile
    from pyiceberg.table import Table
    from requests import Response

__all__ = ["Judge", "all_match", "answered_table", "ask_for_head", "may_match"]


@dataclass(frozen=True, slots=True)
class Judge:
    """Tells by partitions and statistics whether a row can match; for one partition spec.

    Args:
        manifest: Whether a file that a manifest names may hold such a row.
        file: Whether a data file may.
    """

    manifest: Callable[[ManifestFile], bool]
    file: Callable[[DataFile], bool]


def may_match(table: Table, spec_id: int, where: BooleanExpression) -> Judge:
    """A judge of the table's files of one partition spec."""
    from pyiceberg.expressions.visitors import (
        _InclusiveMetricsEvaluator,
        expression_evaluator,
        inclusive_projection,
        manifest_evaluator,
    )
    from pyiceberg.schema import Schema

    schema, spec = table.schema(), table.specs()[spec_id]
    projected = inclusive_projection(schema, spec)(where)
    fields = Schema(*spec.partition_type(schema).fields)
    partition = expression_evaluator(fields, projected, case_sensitive=True)
    statistics = _InclusiveMetricsEvaluator(schema, where).eval

    def file(file: DataFile) -> bool:
        return partition(file.partition) and statistics(file)

    return Judge(manifest_evaluator(spec, schema, projected), file)


def all_match(table: Table, where: BooleanExpression) -> Callable[[DataFile], bool]:
    """Tells by partition and statistics whether all rows of a data file match."""
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.expressions.visitors import _StrictMetricsEvaluator, residual_evaluator_of

    schema = table.schema()
    by_statistics = _StrictMetricsEvaluator(schema, where).eval
    residuals = {i: residual_evaluator_of(spec, where, True, schema) for i, spec in table.specs().items()}

    def judge(file: DataFile) -> bool:
        left = residuals[file.spec_id].residual_for(file.partition)
        return by_statistics(file) or bool(left == AlwaysTrue())

    return judge


def ask_for_head(catalog: RestCatalog, identifier: tuple[str, ...]) -> Response:
    """Asks for a table with those of its snapshots only that a branch or a tag names; not parsed yet."""
    from pyiceberg.catalog.rest import Endpoints

    path = catalog._split_identifier_for_path(identifier)
    url = catalog.url(Endpoints.load_table, prefixed=True, **path)
    return catalog._session.get(url, params={"snapshots": "refs"})


def answered_table(catalog: RestCatalog, identifier: tuple[str, ...], text: str) -> Table:
    """The table that such an answer tells."""
    from pyiceberg.catalog.rest import TableResponse

    return catalog._response_to_table(identifier, TableResponse.model_validate_json(text))
