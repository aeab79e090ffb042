"""What a deployment has in Snowflake is as it was after the stack was stopped and started."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.clouds.cloud_aws import CloudAws
from kit.clouds.cloud_snowflake import cloud_snowflake
from kit.clouds.in_snowflake import administrator, in_snowflake_as


@pytest.mark.nightly
def test_views_are_described_after_a_restart(aws_process: CloudAws, tmp_path: Path) -> None:
    """The description of a view asked the real AWS: nobody had opened what lies below its table."""
    with (
        cloud_snowflake(tmp_path, aws_process.url) as standin,
        in_snowflake_as("again", aws_process, standin) as shop,
    ):
        shop.create()
        shop.make_table("trades")
        shop.show("trades")
        shop.create()
        shop.admin.close()
        standin.stop()
        standin.start()
        shop.admin = administrator(standin)

        role, view = shop.system_role, shop.shown("trades_without_metadata")
        assert [row["name"] for row in shop.admin.shown(f"desc view {view}", role=role)] == [
            "symbol", "price",
        ]  # fmt: skip
        assert shop.changes() == {}
        shop.delete()
