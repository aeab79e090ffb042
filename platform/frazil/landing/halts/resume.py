"""Resume: a suspended or paused table lands again, past the records that its owner gives up."""

from __future__ import annotations

from collections.abc import Collection

from frazil.connections import Connections
from frazil.errors import ConfigureError, StopError
from frazil.kafka.facts import topic_fact
from frazil.landing.land import Step, land
from frazil.landing.position.history import starts
from frazil.landing.position.ledger import read_ledger
from frazil.landing.report import LandingReport
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle, writable_handle
from frazil.tables.commits.commit import remove_properties
from frazil.tables.commits.suspension import MARKS
from frazil.tables.keys import Key


def resume(
    spec: TableSpec,
    connections: Connections,
    *,
    past: Collection[Key] = (),
    run_id: str = "",
    on_step: Step = lambda _: None,
) -> LandingReport:
    """Lifts a table's suspension, or pause, and lands what waits.

    Args:
        past: Bad records to leave out, once: they are counted as skipped. One that decodes after all
            is landed.

    Raises:
        SuspendedError: Another bad record stops the table.
        ConfigureError: A record that is named does not wait to be landed.
    """
    handle = writable_handle(spec, connections)
    with catalog_errors(connections.settings):
        if past:
            _may_be_left_out(spec, connections, handle, past)
        remove_properties(handle, MARKS)
    return land(spec, connections, run_id=run_id, past=past, on_step=on_step)


def refuse_running(spec: TableSpec, connections: Connections) -> None:
    """Refuses a table that nothing stops: there is nothing to lift.

    Raises:
        StopError: It is neither suspended nor paused.
    """
    handle = writable_handle(spec, connections)
    with catalog_errors(connections.settings):
        known = handle.load().properties
    if not any(mark in known for mark in MARKS):
        raise StopError(
            f"Table {handle} is neither suspended nor paused.",
            meaning="Nothing was done.",
            todo=f"`frazil land {handle}` lands what waits.",
        )


def _may_be_left_out(
    spec: TableSpec, connections: Connections, handle: TableHandle, past: Collection[Key]
) -> None:
    if spec.on_bad_record != "suspend":
        raise ConfigureError(
            f"Table {handle} stops at no bad record: its spec says on_bad_record: {spec.on_bad_record}.",
            meaning="Nothing was landed.",
            todo="Leave --past out.",
        )
    facts = topic_fact(connections.admin, spec.topic)
    ledger = read_ledger(handle.load().metadata)
    begins = starts(facts, ledger.position if ledger else {})
    for partition, offset in past:
        if not begins.get(partition, 0) <= offset < facts.end.get(partition, 0):
            waits = ", ".join(f"{p}: [{begins[p]}, {end})" for p, end in sorted(facts.end.items()))
            raise ConfigureError(
                f"Record {partition}:{offset} of topic {spec.topic} does not wait to be landed.",
                where=f"what waits, by partition: {waits}",
                meaning="Nothing was landed; the table is as it was.",
                todo=f"`frazil describe {handle}` says which record stops it.",
            )
