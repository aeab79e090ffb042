"""Why a table that was never made, or never landed into, can't be: what its topic's schemas say of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from frazil.connections import Connections
from frazil.errors import ConfigureError, FrazilError, MissingError, SchemaRefusedError, SpecError
from frazil.formats.record import topic_columns
from frazil.formats.row_key import row_key
from frazil.kafka.provisioning import unregistered
from frazil.landing.position.state import TableState
from frazil.spec.topic import TableSpec

_REFUSALS = (SchemaRefusedError, SpecError, ConfigureError, MissingError)


def refusal(spec: TableSpec, connections: Connections) -> FrazilError | None:
    """What a landing would say before it makes a table; None where it would make one, or nobody can tell.

    Nothing is written: a table that was not made has no place for a note.
    """
    try:
        if not unregistered(spec, connections.registry):
            row_key(spec, topic_columns(spec, connections.registry))
    except _REFUSALS as e:
        return e
    except FrazilError:
        return None
    return None


def with_refusals(
    states: Iterable[TableState], specs: Mapping[str, TableSpec], connections: Connections
) -> list[TableState]:
    """States of tables that are new, and whose topics have records, with what keeps them from being made."""
    return [_with_refusal(state, specs[state.identifier], connections) for state in states]


def _with_refusal(state: TableState, spec: TableSpec, connections: Connections) -> TableState:
    if state.state != "new" or not state.lag or spec.is_read_only:
        return state
    why = refusal(spec, connections)
    if why is None:
        return state
    return replace(state, state="suspended", reason=f"{why.what} {why.where}: {why.todo}")
