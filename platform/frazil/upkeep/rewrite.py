"""One round of a compaction: the chosen files on a branch of their own, rewritten there by Spark.

The branch holds nothing but those files, so Iceberg's procedure rewrites exactly them, and reads no
manifest but one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import stamina

from frazil.connections import Connections
from frazil.errors import AuditFailedError, CommitConflictError
from frazil.quoting import literal, quoted
from frazil.spec.layout import SortTerm
from frazil.spec.names import TableName
from frazil.tables.catalog import load_table
from frazil.tables.client_properties import SPARK_CATALOG
from frazil.tables.faults import Job, spark_job
from frazil.tables.heads import TRIES, heads, through
from frazil.tables.manifests import Entries, Held, names_live
from frazil.tables.rewrite import Replacement, chosen, overtaken
from frazil.tables.snapshots import ancestors
from frazil.upkeep.rounds import Round

if TYPE_CHECKING:
    from pyiceberg.table import Table


__all__ = ["rewrite"]

_MARK = {"frazil.plan": "compaction"}


def rewrite(
    connections: Connections,
    name: TableName,
    held: Held,
    plan: Round,
    order: Iterable[SortTerm],
    branch: str,
) -> Replacement:
    """Writes the files of one round anew; nothing of it is visible on `main`.

    Args:
        connections: The outside systems.
        name: The table.
        held: The head that the round was planned on.
        plan: The round.
        order: Of the rows; as they come where there is none.
        branch: A name for the branch.

    Raises:
        AuditFailedError: The new files do not hold the rows of the old ones.
        OvertakenError: Rows were deleted since the head was read.
        CommitConflictError: Other commits came in between time and again.
    """
    _make_branch(connections, name, held, plan, branch)
    # Ten: behind all others Spark is slow to commit, and what is landed meanwhile makes it a conflict.
    for attempt in stamina.retry_context(on=CommitConflictError, attempts=10, wait_max=1.0):
        with attempt:
            _call(connections, name, plan, order, branch)
    added = _added(load_table(connections.catalog, name), branch)
    found = chosen(held, (f.path for f in plan.files), branch, added)
    _audit(name, held, found)
    return replace(found, conflicts=attempt.num - 1)


def _call(
    connections: Connections, name: TableName, plan: Round, order: Iterable[SortTerm], branch: str
) -> None:
    """Calls Iceberg's own procedure on the branch."""
    arguments = {
        "table": literal(quoted(*name.identifier)),
        "branch": literal(branch),
        **_strategy(order),
        "options": _options(plan, connections.settings.spark_parallelism),
    }
    said = ", ".join(f"{key} => {value}" for key, value in arguments.items())
    again = "Try again; `frazil orphans` removes leftovers."
    with spark_job(Job("compaction", str(name), "No row is lost or doubled.", again)):
        connections.background_spark.sql(f"CALL {SPARK_CATALOG}.system.rewrite_data_files({said})").collect()


def _make_branch(connections: Connections, name: TableName, held: Held, plan: Round, branch: str) -> None:
    from frazil.tables.swap import Narrow

    entries = held.entries
    for table in heads(connections.catalog, name):
        if branch in table.metadata.refs:
            return
        if _deletes(table) != held.deletes:
            raise overtaken(table, "rows were deleted")
        tx = table.transaction()
        Narrow(tx, branch, _MARK, [entries[f.path] for f in plan.files]).commit()
        if through(tx.commit_transaction):
            return
    raise CommitConflictError(
        f"The catalog refused a branch of {name} {TRIES} times.",
        meaning="Others commit to the table all the time; the table is as they left it.",
        todo="Nothing: the upkeep sensor tries again; so does `frazil compact`.",
    )


def _deletes(table: Table) -> frozenset[str]:
    """Paths of the manifests that name delete files now: the branch gets those."""
    from pyiceberg.manifest import ManifestContent

    head = table.current_snapshot()
    manifests = head.manifests(table.io) if head else []
    deletes = (m for m in manifests if m.content == ManifestContent.DELETES and names_live(m))
    return frozenset(m.manifest_path for m in deletes)


def _strategy(order: Iterable[SortTerm]) -> dict[str, str]:
    if not (terms := [_term(t) for t in order]):
        return {"strategy": literal("binpack")}
    return {"strategy": literal("sort"), "sort_order": literal(", ".join(terms))}


def _term(term: SortTerm) -> str:
    columns = [quoted(*column.split(".")) for column in term.columns]
    if term.zorder:
        return f"zorder({', '.join(columns)})"
    way, nulls = "ASC" if term.ascending else "DESC", "FIRST" if term.nulls_first else "LAST"
    return f"{columns[0]} {way} NULLS {nulls}"


def _options(plan: Round, cores: int) -> str:
    options = {
        "rewrite-all": "true",
        "target-file-size-bytes": plan.target,
        "max-file-group-size-bytes": plan.group,
        # Half of the cores at most, or landings wait: a group is one task, but where it is shuffled.
        "max-concurrent-file-group-rewrites": max(1, cores // 2),
    }
    pairs = (f"{literal(key)}, {literal(str(value))}" for key, value in options.items())
    return f"map({', '.join(pairs)})"


def _added(table: Table, branch: str) -> Entries:
    """Entries of the files that Spark added to the branch."""
    from pyiceberg.manifest import ManifestContent, ManifestEntryStatus

    tip = next(ancestors(table.metadata, branch))
    own = [m for m in tip.manifests(table.io) if m.added_snapshot_id == tip.snapshot_id]
    data = [m for m in own if m.content == ManifestContent.DATA]
    entries = [e for m in data for e in m.fetch_manifest_entry(table.io)]
    return tuple(e for e in entries if e.status == ManifestEntryStatus.ADDED)


def _audit(name: TableName, held: Held, found: Replacement) -> None:
    """As many rows as before; fewer only where delete files say so."""
    before, after = (
        sum(e.data_file.record_count for e in entries) for entries in (found.removed, found.added)
    )
    if after == before or (held.deletes and after < before):
        return
    raise AuditFailedError(
        f"A compaction of {name} does not add up.",
        where=f"{before} rows in {len(found.removed)} files, {after} in the {len(found.added)} new ones",
        meaning="Nothing of it is visible; the table is as it was.",
        todo="Try again. If it happens twice, it is a defect of Frazil: please report these numbers.",
    )
