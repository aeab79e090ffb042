"""A topic moves from Frazil to Tableflow: Frazil stops at a position, and says what readers have to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, ClassVar

from frazil.connections import Connections
from frazil.errors import NotYetError, StopError
from frazil.formats.columns import names_by_word
from frazil.kafka.facts import topic_fact
from frazil.landing.evolve import SUSPENDED_BY
from frazil.landing.ledger import EMPTY, Ledger, read_ledger
from frazil.quoting import double_quoted
from frazil.spec.names import TableName, writable
from frazil.spec.topic import TableSpec
from frazil.tables.branches import new_branch
from frazil.tables.catalog import catalog_errors, load_table
from frazil.tables.stage import SUSPENDED, Staged, StagedFiles, publish

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction

TABLEFLOW = "tableflow"
"""The value of `SUSPENDED_BY` while a topic is released."""


@dataclass(frozen=True, slots=True)
class ReleaseReport:
    """Where Frazil stopped, by partition.

    `first`: where Tableflow will begin, as the topic stands now. `only_here`: offsets that Tableflow can't
    read any more. `both`: offsets that both tables will hold. `where`: rows of Tableflow's table that are
    not in this one, as SQL.
    """

    table: str
    topic: str
    position: Mapping[int, int]
    first: Mapping[int, int]
    only_here: int
    both: int
    where: str


def release(spec: TableSpec, connections: Connections, *, run_id: str = "") -> ReleaseReport:
    """Stops the landing of a topic, for good until `resume`, and tells from where Tableflow goes on.

    The commit that says so moves the table's head: a landing that is under way finds it, and is dropped.

    Raises:
        NotYetError: Nothing was landed yet: there is nothing to release.
    """
    name = writable(spec, connections.settings)
    with catalog_errors(connections.settings):
        facts = topic_fact(connections.admin, spec.topic)
        entry = replace(
            EMPTY, because="released to Tableflow", landing=new_branch("release_"), run_id=run_id,
            version=version("frazil"),
        )  # fmt: skip
        published = publish(connections.catalog, name, _Release(StagedFiles(), entry))
        ledger = read_ledger(load_table(connections.catalog, name).metadata)
    assert ledger, f"{published.snapshot_id} is one"
    spans = {p: (ledger.start[p], to) for p, to in ledger.position.items()}
    kept = {p: min(max(facts.first.get(p, to), start), to) for p, (start, to) in spans.items()}
    return ReleaseReport(
        table=str(name),
        topic=spec.topic,
        position=ledger.position,
        first=facts.first,
        only_here=sum(kept[p] - start for p, (start, _) in spans.items()),
        both=sum(to - kept[p] for p, (_, to) in spans.items()),
        where=_beyond(spec, ledger.position),
    )


def refuse_released(name: TableName, table: Table) -> None:
    """Raises StopError where the topic is Tableflow's by now."""
    if table.properties.get(SUSPENDED_BY) == TABLEFLOW:
        raise StopError(
            f"The topic of {name} was released to Tableflow.",
            where=table.properties.get(SUSPENDED, ""),
            meaning="Nothing was landed.",
            todo=f"`frazil resume {name}` lands it by Frazil again, from where it stopped.",
        )


@dataclass(frozen=True)
class _Release(Staged):
    """No rows: only that this is the last position, and why."""

    work: ClassVar[str] = "release"
    resumes: ClassVar[bool] = False

    entry: Ledger

    def upon(self, name: TableName, table: Table) -> Ledger:
        """See `Staged.upon`."""
        before = read_ledger(table.metadata)
        if before is None:
            raise NotYetError(
                f"Nothing was landed into {name} yet.",
                meaning="There is nothing to release.",
                todo="Write mode: tableflow.",
            )
        return self.entry.beside(before)

    def put(self, tx: Transaction, table: Table, said: Mapping[str, str]) -> None:
        """See `Staged.put`."""
        super().put(tx, table, said)
        before = read_ledger(table.metadata)
        at = ", ".join(f"{p}:{to}" for p, to in sorted(before.position.items())) if before else ""
        tx.set_properties({SUSPENDED: f"released to Tableflow at {at}", SUSPENDED_BY: TABLEFLOW})


def _beyond(spec: TableSpec, position: Mapping[int, int]) -> str:
    names = names_by_word(spec)
    partition, offset = double_quoted(names["partition"]), double_quoted(names["offset"])
    each = [f"({partition} = {p} AND {offset} >= {to})" for p, to in sorted(position.items())]
    return " OR ".join([*each, f"{partition} NOT IN ({', '.join(map(str, sorted(position)))})"])
