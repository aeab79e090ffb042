"""One derivation from end to end: positions, increments, query, write, publish, clean up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.derive.report import DeriveReport
from frazil.derive.work import Step
from frazil.derived_spec import DerivedSpec

if TYPE_CHECKING:
    from frazil.connections import Connections

__all__ = ["derive"]


def derive(
    spec: DerivedSpec,
    connections: Connections,
    *,
    now: float | None = None,
    rebuild: bool = False,
    run_id: str = "",
    on_step: Step = lambda _: None,
) -> DeriveReport:
    """Brings a table up to what its inputs hold now.

    Args:
        spec: The table.
        connections: The outside systems.
        now: The clock, seconds since the epoch: what the query calls `:now`.
        rebuild: Make all of it anew from the whole inputs, in one commit.
        run_id: Noted in the snapshot.
        on_step: See `Step`.

    Raises:
        MissingError: An input is not there.
        PositionLostError: Nothing tells any more what is new in an input; a rebuild helps.
        QueryChangedError: The rows that are there come from another query; a rebuild helps.
        OvertakenError: Another derivation of the same table was quicker; nothing of this one is visible.
        FrazilError: See docs/derive.md for the others. Never is a part of a derivation visible.
    """
    raise NotImplementedError
