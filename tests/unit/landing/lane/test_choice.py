"""Which landings take the lane."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.landing.lane.job import lane_of
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec

AUTO = Settings.load(spark={"lane": "auto"})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (AUTO.with_changes(spark={"lane": "off"}), {}),
        (AUTO, {"mode": "upsert", "key_columns": ["id"]}),
    ],
    ids=["it is off", "rows are replaced"],
)
def test_a_landing_stays_off_the_lane_before_anything_is_asked(
    settings: Settings, said: dict[str, Any]
) -> None:
    nobody: Any = None  # no decoder, no Spark, no table is looked at
    spec = TableSpec.model_construct(**{**TableSpec(topic="t", namespace="n").__dict__, **said})

    assert lane_of(settings, nobody, spec, nobody, nobody) is None
