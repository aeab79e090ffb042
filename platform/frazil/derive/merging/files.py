"""The data files that can hold rows of some keys: chosen by metadata, laid upon a branch of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.derive.write import MARK
from frazil.errors import CommitConflictError
from frazil.spec.names import TableName
from frazil.tables.commit import commit

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile
    from pyiceberg.table import Table, Transaction


__all__ = ["Touched", "branch_of", "touched"]


@dataclass(frozen=True, slots=True)
class Touched:
    """Some data files of a head.

    Args:
        table: As loaded; the files are of its head.
        entries: The files.
    """

    table: Table
    entries: tuple[ManifestEntry, ...]

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each has, by path."""
        return {e.data_file.file_path: e.data_file.record_count for e in self.entries}

    @property
    def bytes(self) -> int:
        """Of all of them."""
        return sum(e.data_file.file_size_in_bytes for e in self.entries)


def touched(table: Table, inside: BooleanExpression) -> Touched:
    """The files of the head that can hold a row for which `inside` is true. Opens no data file."""
    from pyiceberg.manifest import ManifestContent

    head = table.current_snapshot()
    manifests = head.manifests(table.io) if head else []
    data = [m for m in manifests if m.content == ManifestContent.DATA]
    return Touched(table, tuple(_entries(table, data, inside)))


def _entries(
    table: Table, manifests: list[ManifestFile], inside: BooleanExpression
) -> Iterator[ManifestEntry]:
    from pyiceberg.utils.concurrent import ExecutorFactory

    judges = {i: _Judge(table, i, inside) for i in {m.partition_spec_id for m in manifests}}
    chosen = [m for m in manifests if judges[m.partition_spec_id].manifest(m)]
    read = ExecutorFactory.get_or_create().map(lambda m: m.fetch_manifest_entry(table.io), chosen)
    for manifest, entries in zip(chosen, read, strict=True):
        judge = judges[manifest.partition_spec_id]
        yield from (entry for entry in entries if judge.file(entry.data_file))


class _Judge:
    """Tells by partitions and statistics whether a row can be inside; for one partition spec."""

    def __init__(self, table: Table, spec_id: int, inside: BooleanExpression) -> None:
        from pyiceberg.expressions.visitors import (
            _InclusiveMetricsEvaluator,
            expression_evaluator,
            inclusive_projection,
            manifest_evaluator,
        )
        from pyiceberg.schema import Schema

        schema, spec = table.schema(), table.specs()[spec_id]
        projected = inclusive_projection(schema, spec)(inside)
        self.manifest: Callable[[ManifestFile], bool] = manifest_evaluator(spec, schema, projected)
        fields = Schema(*spec.partition_type(schema).fields)
        self._partition = expression_evaluator(fields, projected, case_sensitive=True)
        self._metrics = _InclusiveMetricsEvaluator(schema, inside).eval

    def file(self, file: DataFile) -> bool:
        return self._partition(file.partition) and self._metrics(file)


def branch_of(catalog: Catalog, name: TableName, files: Touched, branch: str) -> int:
    """Makes a branch that holds nothing but those files, and what deletes rows in them; its snapshot's id.

    Raises:
        CommitConflictError: Others committed in between; the files may be others now.
    """
    from frazil.tables.swap import Narrow

    head = files.table.metadata.current_snapshot_id

    def stage(table: Table) -> Transaction:
        if table.metadata.current_snapshot_id != head:
            raise CommitConflictError(
                f"Others committed to {name} while a derivation chose its files.",
                meaning="Nothing of this derivation is visible.",
                todo="Nothing: it tries again.",
            )
        tx = table.transaction()
        Narrow(tx, branch, MARK, files.entries).commit()
        return tx

    return commit(catalog, name, stage, work="branch").snapshot_id or 0
