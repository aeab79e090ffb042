"""A topic moves from Frazil to Tableflow: Frazil stops at a position, and says what readers have to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from frazil.connections import Connections
from frazil.formats.columns.columns import names_by_word
from frazil.kafka.facts import topic_fact
from frazil.landing.halts.halt import halt
from frazil.landing.position.ledger import Ledger
from frazil.quoting import double_quoted
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import writable_handle
from frazil.tables.commits.suspension import TABLEFLOW


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
        StopError: It was released, or paused, before.
    """
    handle = writable_handle(spec, connections)
    with catalog_errors(connections.settings):
        facts = topic_fact(connections.admin, spec.topic)
        ledger = halt(handle, TABLEFLOW, "released to Tableflow", _released, run_id=run_id)
    spans = {p: (ledger.start[p], to) for p, to in ledger.position.items()}
    kept = {p: min(max(facts.first.get(p, to), start), to) for p, (start, to) in spans.items()}
    return ReleaseReport(
        table=str(handle),
        topic=spec.topic,
        position=ledger.position,
        first=facts.first,
        only_here=sum(kept[p] - start for p, (start, _) in spans.items()),
        both=sum(to - kept[p] for p, (_, to) in spans.items()),
        where=_beyond(spec, ledger.position),
    )


def _released(ledger: Ledger) -> str:
    at = ", ".join(f"{p}:{to}" for p, to in sorted(ledger.position.items()))
    return f"released to Tableflow at {at}"


def _beyond(spec: TableSpec, position: Mapping[int, int]) -> str:
    names = names_by_word(spec)
    partition, offset = double_quoted(names["partition"]), double_quoted(names["offset"])
    each = [f"({partition} = {p} AND {offset} >= {to})" for p, to in sorted(position.items())]
    return " OR ".join([*each, f"{partition} NOT IN ({', '.join(map(str, sorted(position)))})"])
