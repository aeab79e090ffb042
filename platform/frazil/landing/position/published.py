"""What a run has published of a table, by the table's own snapshots, for a caller that lost the report."""

from __future__ import annotations

from functools import reduce
from itertools import islice

from frazil.connections import Connections
from frazil.landing.position.ledger import ledgers
from frazil.landing.report import LandingReport, report_of, sum_of
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import handle_of
from frazil.tables.commits.commit import Committed
from frazil.tables.commits.stage import StagedFiles

_MOST = 200  # ledgers that are looked at, the newest first


def published_by(
    run_id: str, spec: AnyTable, connections: Connections, since: float = 0.0
) -> LandingReport | None:
    """The landings that a run published, as one; None where it published none.

    Args:
        connections: Those of the spec.
        since: Seconds since the epoch; what the run published before is left out.
    """
    handle = handle_of(spec, connections)
    with catalog_errors(connections.settings):
        table = handle.load_or_none()
    if table is None:
        return None
    newest = islice(ledgers(table.metadata), _MOST)
    own = [
        report_of(handle.name, ledger, Committed(table, snapshot.snapshot_id), StagedFiles())
        for snapshot, ledger in newest
        if ledger.run_id == run_id and ledger.is_landing and snapshot.timestamp_ms >= since * 1000
    ]
    return reduce(sum_of, reversed(own)) if own else None
