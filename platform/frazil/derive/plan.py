"""The plan of a derivation: where the output stands, what is new in its inputs, what must be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.derive.computation import Computation
from frazil.derive.positions.inputs import (
    LOST,
    Increment,
    Inputs,
    increment,
    inputs_cover,
    is_unmoved,
    none_went_back,
    rows_lost,
    standing,
    whole,
)
from frazil.derive.positions.ledger import DerivedLedger, Position
from frazil.derive.write import forgotten_meanwhile, overtaken
from frazil.errors import DifferentError, PositionLostError, QueryChangedError, RetryError, RowsLostError
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle, name_of
from frazil.tables.commits.commit import commit
from frazil.tables.commits.erasure import forgettings
from frazil.tables.commits.ledger import Recorded
from frazil.tables.commits.rollback import move_main
from frazil.tables.metadata.rows import stored_rows
from frazil.tables.metadata.snapshots import ancestors, is_first

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.snapshots import Snapshot

Names = Mapping[str, TableName]
"""The tables that a query reads, by the name that the user gave each."""


Fits = Callable[[Mapping[str, Position]], bool]


@dataclass(frozen=True)
class Plan:
    """What one derivation does."""

    names: Names  # the inputs, by the name that the user gave each
    inputs: Inputs  # the same as loaded, by `namespace.table`
    table: Table | None  # the output; None where it is yet to be made
    before: DerivedLedger | None  # the output's newest ledger; None where nothing was derived yet
    whole: bool  # whether all rows are made anew
    increments: Mapping[str, Increment]  # what is to be read, by `namespace.table`
    due: bool
    # Whether a person asked for it: then it takes the place of derivations that are quicker.
    rebuild: bool = False
    mixed: bool = False  # whether a query begins here whose rows stand beside those of another one
    letters: str = ""  # the newest derivation that kept dead letters of the output; empty: there was none
    rolled_back_to: int | None = None  # the snapshot to which the output went back, because an input had
    follows: bool = False  # whether rows that change in an input are followed

    @property
    def positions(self) -> dict[str, Position]:
        """The positions of the inputs once it is done."""
        return {name: new.to for name, new in self.increments.items()}

    @property
    def changes(self) -> bool:
        """Whether rows of an input changed or went that were read."""
        return any(new.changed for new in self.increments.values())

    @property
    def base(self) -> str:
        """The derivation that it follows."""
        return self.before.derivation if self.before else ""


def load_inputs(catalog: Catalog, computation: Computation, namespace: str) -> tuple[Names, Inputs]:
    """The tables that are read, as they are now.

    Raises:
        MissingError: One is not there.
    """
    names = {word: TableName.parse(word, namespace) for word in computation.inputs}
    return names, {str(name): TableHandle(catalog, name).load() for name in names.values()}


def make_plan(
    handle: TableHandle,
    computation: Computation,
    *,
    rebuild: bool = False,
    from_here: bool = False,
) -> Plan:
    """Compares the output's position with its inputs; takes the output back first, if an input went back.

    Raises:
        MissingError: An input is not there.
        DifferentError: The output holds rows that no derivation made.
        PositionLostError: Nothing tells any more what is new.
        QueryChangedError: The rows that are there come from another query.
    """
    # Before the inputs: a position that others move on meanwhile must not look as if an input went back.
    table, letters = handle.load_or_none(), handle.dead_letters.load_or_none()
    names, inputs = load_inputs(handle.catalog, computation, handle.name.namespace)
    before, kept = (_newest(each, whatever_it_holds=rebuild) for each in (table, letters))
    if table and before is None:
        _refuse_foreign(table)
    is_full, went_back, mixed = computation.spec.kind == "full", None, False
    if table and before and not rebuild and not is_full:
        mixed = from_here and before.query != computation.fingerprint
        _refuse_unfit(handle.name, computation, inputs, before, mixed=mixed)
        query = before.query
        if letters:  # first, and though the table stands: they may be ahead of it
            _, kept, _ = _followed(letters, query, partial(none_went_back, inputs=inputs))
        table, before, went_back = _followed(table, query, partial(inputs_cover, inputs=inputs))
    everything = rebuild or before is None or is_full
    follows = before is not None and computation.follows(before) and not mixed
    new = _news(inputs, None if everything else before, follows=follows)
    due = mixed or any(n.is_due for n in new.values())
    if everything:
        due = _is_due(computation, before, inputs, rebuild=rebuild)
    letters_of = kept.derivation if kept else ""
    wins = rebuild and before is not None and not is_full
    return Plan(
        names, inputs, table, before, everything, new, due, wins, mixed, letters_of, went_back, follows
    )


def _newest(table: Table | None, *, whatever_it_holds: bool) -> DerivedLedger | None:
    return DerivedLedger.newest(table.metadata, whatever_it_holds=whatever_it_holds) if table else None


def _refuse_unfit(
    name: TableName, computation: Computation, inputs: Inputs, before: DerivedLedger, *, mixed: bool
) -> None:
    """Refuses rows that can't stand beside those that are there."""
    if mixed:
        _refuse_other_inputs(name, inputs, before)
    else:
        _refuse_other_query(name, computation, before)
    _refuse_lost(name, inputs, before)


def refuse_loss(connections: Connections, name: TableName, plan: Plan, accepted: int) -> None:
    """Refuses a rebuild without rows that the table was made of, and its inputs no longer hold.

    Raises:
        RowsLostError: They are more than were accepted.
    """
    assert plan.before
    read, lost = plan.before.read, dict[str, int]()
    for each in plan.names.values():
        if position := plan.before.inputs.get(word := str(each)):
            lost[word] = rows_lost(connections, plan.inputs[word], position, read.get(word, 0))
    if (total := sum(lost.values())) <= accepted:
        return
    raise RowsLostError(
        f"A rebuild of {name} would lose what was made of {total} rows: its inputs no longer hold them.",
        where="; ".join(f"{each}: {n} of {read[each]} rows that were read" for each, n in lost.items() if n),
        meaning="Nothing was changed.",
        todo=f"`frazil derive {name} --rebuild --accept-loss {total}` gives them up; where only the query "
        "changed, --from-here keeps the rows that are there.",
    )


def refuse_lost_inputs(handle: TableHandle, plan: Plan) -> None:
    """Refuses to publish a rebuild behind which nothing would tell what came since it began.

    Raises:
        RetryError: An input was rolled back, or its snapshots have expired.
    """
    inputs = {str(each): TableHandle(handle.catalog, each).load() for each in plan.names.values()}
    if not inputs_cover(plan.positions, inputs):
        raise RetryError(
            f"A rebuild of {handle} was dropped: an input went back, or lost the snapshots that came since.",
            meaning="Nothing was changed.",
            todo="Rebuild again.",
        )


def refuse_forgotten(handle: TableHandle, plan: Plan) -> None:
    """Refuses to publish what was made of rows that somebody had forgotten since they were planned.

    Who forgets looks at an input first, and then at what is made of it. So this asks once the output is
    there, whose commit is refused in its turn where that one looks at it before.

    Raises:
        OvertakenError: Rows of an input were forgotten, or looked for.
    """
    for each in plan.names.values():
        then, now = plan.inputs[str(each)], TableHandle(handle.catalog, each).load()
        if forgettings(then.metadata) != forgettings(now.metadata):
            raise forgotten_meanwhile(handle.name)


def _news(inputs: Inputs, before: DerivedLedger | None, *, follows: bool) -> dict[str, Increment]:
    """What is to be read of each input: what is new in it, or all."""
    if before is None:
        return {each: whole(table) for each, table in inputs.items()}
    return {each: increment(table, before.inputs[each], follows=follows) for each, table in inputs.items()}


def _followed(table: Table, query: str, fits: Fits) -> tuple[Table, DerivedLedger | None, int | None]:
    """Takes a table back to its newest snapshot that holds nothing its inputs do not.

    `query` is the fingerprint of what makes its rows now: an older snapshot may hold another query's. `fits`
    tells whether a table at some positions holds nothing that the inputs do not.

    Returns:
        The table, its ledger then, and the snapshot's id, which is None where nothing had to go.
    """
    before = DerivedLedger.newest(table.metadata)
    if before is None or fits(before.inputs):
        return table, before, None

    def stage(fresh: Table) -> Transaction | None:
        now = DerivedLedger.newest(fresh.metadata)
        if now is None or fits(now.inputs):  # done, though the answer was lost
            return None
        if now != before:
            raise overtaken(name_of(table))
        return move_main(fresh, *_newest_fit(fresh, query, fits))

    after = commit(TableHandle.of(table), stage, work="rollback", todo="Derive again.").table
    return after, DerivedLedger.newest(after.metadata), after.metadata.current_snapshot_id


def _newest_fit(
    table: Table, query: str, fits: Fits
) -> tuple[Snapshot, type[DerivedLedger], Recorded[DerivedLedger]]:
    name = name_of(table)
    for snapshot, ledger in DerivedLedger.all(table.metadata):
        if ledger.query == query and fits(ledger.inputs):
            return snapshot, DerivedLedger, Recorded(ledger, snapshot.sequence_number or 0)
    oldest = list(ancestors(table.metadata))[-1]
    if is_first(oldest) and not stored_rows(table, oldest):
        return oldest, DerivedLedger, Recorded(None, 1)
    raise PositionLostError(
        f"An input of {name} was rolled back, and no snapshot of {name} is as old as what is left of it.",
        meaning=f"{name} holds rows that were made of rows which are no longer there. Nothing was changed.",
        todo=f"`frazil derive {name} --rebuild` recomputes all rows, in one commit.",
    )


def _is_due(computation: Computation, before: DerivedLedger | None, inputs: Inputs, *, rebuild: bool) -> bool:
    """Whether making everything anew could give other rows."""
    if rebuild or before is None or computation.uses_now or before.query != computation.fingerprint:
        return True
    if not inputs_cover(before.inputs, inputs):
        return True
    return not all(is_unmoved(table, before.inputs[name]) for name, table in inputs.items())


def _refuse_foreign(table: Table) -> None:
    head = next(ancestors(table.metadata), None)
    if rows := stored_rows(table, head):
        raise DifferentError(
            f"There is a table {name_of(table)} already, with rows that no derivation made.",
            where=f"{rows} rows",
            meaning="A derivation would replace them. Nothing was changed.",
            todo="Give the derived table another name in its spec.",
        )


def _refuse_other_query(name: TableName, computation: Computation, before: DerivedLedger) -> None:
    if before.query != computation.fingerprint:
        raise QueryChangedError(
            f"The rows of {name} come from another query, or from other parameters, than its spec has now.",
            where=str(computation.spec.sql or computation.spec.python),
            meaning="Rows of both would stand side by side. Nothing was changed.",
            todo=f"`frazil derive {name} --rebuild` recomputes all rows, in one commit; with "
            "--from-here the rows stay, and the new query makes those that come.",
        )


def _refuse_other_inputs(name: TableName, inputs: Inputs, before: DerivedLedger) -> None:
    if new := sorted(set(inputs) - set(before.inputs)):
        raise QueryChangedError(
            f"The new query of {name} reads {', '.join(new)}, of which nothing was read so far.",
            meaning="Nobody can tell from where on its rows are new. Nothing was changed.",
            todo=f"`frazil derive {name} --rebuild` recomputes all rows, in one commit.",
        )


def _refuse_lost(name: TableName, inputs: Inputs, before: DerivedLedger) -> None:
    for each, table in inputs.items():
        place = standing(before.inputs[each], table)
        if place in LOST:
            raise PositionLostError(
                f"What {name} has not seen of {each} can't be told any more: {each} {LOST[place]}.",
                where=f"snapshot {before.inputs[each].snapshot} of {each}",
                meaning=f"{name} is as it was.",
                todo=f"`frazil derive {name} --rebuild` recomputes all rows, in one commit.",
            )
