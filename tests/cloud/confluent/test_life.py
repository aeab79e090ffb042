"""The objects of the source systems in Confluent Cloud: made, found again, proved, removed."""

from __future__ import annotations

from kit.clouds.cloud_confluent import Deployed


def test_everything_is_made_found_again_proved_and_removed_twice(deployed: Deployed) -> None:
    known = deployed.create()
    assert known["confluent/tableflow/stock_trades"]["table_path"].startswith("s3://tableflow-lake/")
    assert deployed.reconciler().plan().news == ()
    broken = {a: str(e) for a, e in deployed.reconciler().verify().items() if e}
    assert broken == {}
    deployed.delete()
    deployed.delete()
    assert deployed.cloud.inventory() == {}
    assert deployed.store.secrets == {}
