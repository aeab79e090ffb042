"""Tables live at the AWS stand-in: PyIceberg and Glue, in the role that the deployment made."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from frazil.settings.profile import Settings
from frazil.tables.catalogs.catalog import open_catalog
from kit.clouds.cloud_aws import ACCOUNT
from kit.clouds.made_at_aws import MadeAtAws

ROWS = pa.table({"symbol": ["ZVZZT", "ZXZZT"], "quantity": pa.array([1, 2], pa.int32())})


@pytest.fixture
def settings(lab: MadeAtAws) -> Settings:
    """As `frazil env --deployment` tells them: the administrator's keys, and the writer's role."""
    lab.create()
    role = f"arn:aws:iam::{ACCOUNT}:role/{lab.spec.names.writer_role}"
    return Settings.load(
        catalog="glue",
        aws={**lab.aws.settings.model_dump(exclude_none=True), "role_arn": role},
        glue={"warehouse": "s3://lab-lake/warehouse", "database": "lab"},
    )


def test_a_table_is_made_written_and_read_by_the_role(settings: Settings) -> None:
    catalog = open_catalog(settings)

    table = catalog.create_table(("lab", "stock_trades"), ROWS.schema)
    table.append(ROWS)
    table.append(ROWS)

    assert catalog.list_tables("lab") == [("lab", "stock_trades")]
    assert catalog.load_table(("lab", "stock_trades")).scan().to_arrow().num_rows == 4
    assert table.location().startswith("s3://lab-lake/warehouse/")


def test_of_two_commits_on_one_head_none_is_lost(settings: Settings) -> None:
    catalog = open_catalog(settings)
    catalog.create_table(("lab", "stock_trades"), ROWS.schema)
    first, second = (_table(catalog) for _ in range(2))

    first.append(ROWS)
    second.append(ROWS)  # Glue refuses it first: PyIceberg tries again on the new head

    assert _table(catalog).scan().to_arrow().num_rows == 4


def _table(catalog: Catalog) -> Table:
    return catalog.load_table(("lab", "stock_trades"))
