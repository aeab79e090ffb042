"""Tables that the first version of Frazil made: today's goes on where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from frazil.clients import Clients
from frazil.formats.columns.columns import table_fields
from frazil.formats.types import to_iceberg
from frazil.landing.position.ledger import read_ledger
from frazil.settings.profile import Settings
from frazil.spec.upkeep import Upkeep
from frazil.tables.creation import METADATA_STAYS
from frazil.upkeep.expiry.expiry import expire
from kit.tables.commits import COLUMNS, NAME, SPEC, Lake, landed, position, rows
from kit.wires.lying import LyingCatalog

BY_WRITERS = next(iter(METADATA_STAYS))
"""The property by which Iceberg's writers delete old metadata files."""


def first_version(start: int, to: int) -> dict[str, str]:
    """What its landings wrote into a snapshot's summary."""
    return {
        "frazil.topic": "t", "frazil.topic-id": "id",
        "frazil.spans": f'{{"0":[{start},{to}]}}', "frazil.start": '{"0":0}',
        "frazil.records": str(to - start), "frazil.dead-letters": "0", "frazil.skipped": "0",
        "frazil.gaps": "{}", "frazil.bytes": "0", "frazil.total-records": str(to), "frazil.total-bad": "0",
        "frazil.total-gaps": "0", "frazil.schema-ids": "", "frazil.max-timestamp": "",
        "frazil.landing": f"landing_{start}", "frazil.run-id": "", "frazil.version": "0.1.0",
    }  # fmt: skip


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Lake]:
    """A table as the first version left it: two landings, its copy, and writers that delete metadata."""
    catalog = LyingCatalog(tmp_path)
    lake = Lake(catalog)
    catalog.create_namespace(NAME.namespace)
    schema = to_iceberg(table_fields(SPEC, COLUMNS))
    catalog.create_table(NAME.identifier, schema, properties={BY_WRITERS: "true"})
    for start in (0, 2):
        properties = first_version(start, start + 2)
        with lake.table.transaction() as tx:
            tx.set_properties(properties)
            tx.append(rows(lake.table, start, start + 1), snapshot_properties=properties)
    yield lake
    catalog.close()


def clients_of(lake: Lake) -> Clients:
    clients = Clients(Settings.load())
    clients.__dict__["catalog"] = lake.catalog
    return clients


def test_the_next_landing_goes_on_where_the_last_one_ended(old: Lake) -> None:
    before = position(old.table)

    landed(old, 4, 5)

    ledger = read_ledger(old.table.metadata)
    assert (before, position(old.table)) == ({0: 4}, {0: 6})
    assert old.quantities == [0, 1, 2, 3, 4, 5]
    assert ledger is not None
    assert (ledger.total_records, ledger.offsets, ledger.known) == (6, 6, 0)
    assert old.table.properties["frazil.ledger"] == ledger.format != "1"


def test_the_copy_that_it_left_still_tells_the_position_where_its_snapshots_expired(old: Lake) -> None:
    old.append(9)
    gone = [s.snapshot_id for s in old.table.snapshots() if s.snapshot_id != old.head]
    old.table.maintenance.expire_snapshots().by_ids(gone).commit()

    assert position(old.table) == {0: 4}


def test_todays_expiry_takes_the_metadata_files_out_of_the_writers_hands(old: Lake) -> None:
    landed(old, 4, 5)
    spec = SPEC.model_copy(update={"upkeep": Upkeep(min_snapshots=1, keep_snapshots_for=timedelta(0))})

    expire(spec, clients_of(old), 4e9)

    assert old.table.properties[BY_WRITERS] == METADATA_STAYS[BY_WRITERS]
    assert position(old.table) == {0: 6}
