"""By which column rows grow old."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from frazil.spec.derived import DerivedSpec
from frazil.spec.topic import TableSpec
from frazil.upkeep.row_expiry.plan import RowAge, row_age


def test_landed_rows_grow_old_by_their_records_timestamp() -> None:
    portable = TableSpec(topic="t", keep_rows_for="30d", metadata_names="portable")

    assert row_age(TableSpec(topic="t", keep_rows_for="30d")) == RowAge("$$timestamp", timedelta(days=30))
    assert row_age(portable) == RowAge("cflt_metadata_timestamp", timedelta(days=30))


def test_rows_are_kept_for_ever_unless_a_spec_says_otherwise() -> None:
    assert row_age(TableSpec(topic="t")) is None
    assert row_age(DerivedSpec(table="totals", sql=Path("totals.sql"))) is None
