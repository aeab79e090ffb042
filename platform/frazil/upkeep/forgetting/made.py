"""Tables made of rows that are to be forgotten: does the lineage tell which of their rows go with them?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from frazil.connections import Connections
from frazil.derive.computation import Computation, computation_of
from frazil.derive.output import types_of
from frazil.derive.plan import load_inputs
from frazil.derive.positions.inputs import at_head, increment
from frazil.derive.positions.ledger import DerivedLedger
from frazil.derive.publish import Derived
from frazil.derive.queries.columns import lineage
from frazil.derive.queries.query import Query
from frazil.derive.queries.syntax import names_of, output_of
from frazil.errors import FrazilError, PositionLostError, RetryError
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle, handle_of
from frazil.tables.commits.erasure import forgettings
from frazil.tables.commits.stage import StagedFiles, publish
from frazil.tables.commits.works import FORGETTING, work_name
from frazil.upkeep.forgetting.condition import Condition
from frazil.upkeep.forgetting.rows import Going

if TYPE_CHECKING:
    from pyiceberg.table import Table


@dataclass(frozen=True, slots=True)
class MadeOf:
    """A table that is made of another one; `condition` is None where nothing tells which rows go, and why."""

    spec: DerivedSpec
    handle: TableHandle
    source: TableName
    condition: Condition | None = None
    why: str = ""

    @property
    def name(self) -> TableName:
        """Its name."""
        return self.handle.name

    @property
    def is_traced(self) -> bool:
        """Whether its rows that go are known, and it is not made anew as a whole."""
        return self.condition is not None and self.spec.kind != "full"

    @property
    def going(self) -> Going:
        """Its rows that go."""
        assert self.condition
        after = self.spec.upkeep.orphans_after
        return Going(self.handle, self.condition.sql(), self.condition.expression, after, _books)


def made_of(
    source: TableName, condition: Condition | None, derived: Sequence[DerivedSpec], connections: Connections
) -> Iterator[MadeOf]:
    """The tables that are made of a table, and of these, and so on; those that were never made are none.

    Each is looked at when it is asked for. `condition` is None where nothing tells which rows of the source
    go.
    """
    for spec in derived:
        handle = handle_of(spec, connections)
        if handle.load_or_none() is None:
            continue
        computation = computation_of(spec)
        inputs = {TableName.parse(word, handle.name.namespace): word for word in computation.inputs}
        if source not in inputs:
            continue
        handed = _handed_on(computation, inputs[source], condition, handle.name, source, connections)
        whole = spec.kind == "full"  # made anew of what is left
        made = MadeOf(spec, handle, source, handed[0], "" if whole else handed[1])
        yield made
        yield from made_of(handle.name, made.condition, derived, connections)


def refuse_behind(made: MadeOf, connections: Connections, source: Table) -> None:
    """Refuses to forget rows that a table has yet to read: it would bring them in later.

    Raises:
        RetryError: It has not read all of its input.
    """
    try:
        waits = _waiting(made, connections, source)
    except PositionLostError:  # it has to be made anew, of what is left then
        return
    if waits:
        raise RetryError(
            f"{made.name} has yet to read {waits} rows of {made.source}.",
            meaning="It would make rows of what is to be forgotten. Nothing was changed.",
            todo=f"`frazil derive {made.name}`, then forget again.",
        )


def follow(made: MadeOf, connections: Connections, source: Table) -> bool:
    """Moves a table's position past the commit that forgot rows of its input; False where it can't."""
    table = made.handle.load_or_none()
    before = DerivedLedger.newest(table.metadata) if table else None
    if before is None or made.spec.kind == "full":
        return True
    try:
        if _waiting(made, connections, source):
            return False
    except PositionLostError:
        return False
    inputs = {**before.inputs, str(made.source): at_head(source)}
    entry = replace(_nothing(before, work_name(FORGETTING)), inputs=inputs)
    looks = forgettings(table.metadata) if table else 0
    work = Derived(StagedFiles(), entry, before.derivation, forgettings=looks)
    publish(made.handle, work)
    return True


def _waiting(made: MadeOf, connections: Connections, source: Table) -> int:
    table = made.handle.load_or_none()
    ledger = DerivedLedger.newest(table.metadata) if table else None
    if ledger is None or made.spec.kind == "full":
        return 0
    follows = computation_of(made.spec).follows(ledger)
    return increment(source, ledger.inputs[str(made.source)], follows=follows).rows


def _books(table: Table, rows: int, work: str) -> Mapping[str, str]:
    before = DerivedLedger.newest(table.metadata)
    if before is None or not rows:
        return {}
    return replace(_nothing(before, work), removed=rows).following(before).properties()


def _nothing(before: DerivedLedger, work: str) -> DerivedLedger:
    """The ledger of work that reads nothing, and stands where it finds the table."""
    return replace(before, derivation=work, rows=0, removed=0, bad=0, late=0, read={}, run_id="")


def _handed_on(
    computation: Computation,
    origin: str,
    condition: Condition | None,
    name: TableName,
    source: TableName,
    connections: Connections,
) -> tuple[Condition | None, str]:
    anew = f"`frazil derive {name} --rebuild` makes it anew without them"
    if condition is None:
        return None, f"nothing tells which rows of {source} hold it; {anew}, once {source} is"
    if computation.query is None:
        return None, f"a Python function makes its rows; {anew}"
    names, inputs = load_inputs(connections.catalog, computation, name.namespace)
    known = {each: list(types_of(inputs[str(names[each])]).items()) for each in computation.inputs}
    try:
        origins = lineage(computation.query, known)
    except FrazilError as e:
        return None, f"its lineage can't be followed ({e.what.rstrip('.')}); {anew}"
    plain = set(_plain(computation.query, list(origins)))
    as_is = {of[0][1]: out for out, of in origins.items() if out in plain and of and of[0][0] == origin}
    if missing := [column for column in condition.columns if column not in as_is]:
        return None, f"its query does not hand on {', '.join(missing)} as it is; {anew}"
    return condition.renamed(as_is), ""


def _plain(query: Query, columns: Sequence[str]) -> Iterator[str]:
    """The columns of the output that are columns of a table that the query reads, unchanged."""
    if not isinstance(query.tree, exp.Select) or query.tree.find(exp.CTE, exp.Subquery, exp.Lateral):
        return
    named = {name: item for item in output_of(query.tree) for name in names_of(item)}
    for column in columns:
        item = named.get(column, named.get("*"))
        if item is not None and (isinstance(item.unalias(), exp.Column | exp.Star)):
            yield column
