"""Runs what is due by its automation condition: derived tables behind their inputs, readers behind both."""

from __future__ import annotations

import dagster as dg

__all__ = ["publishing_sensor"]


def publishing_sensor() -> dg.AutomationConditionSensorDefinition:
    """The automation condition sensor, on from the start; Dagster's own one starts switched off."""
    return dg.AutomationConditionSensorDefinition(
        name="publishing",
        target=dg.AssetSelection.all(),
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=10,
        description="Derives tables whose inputs have moved; brings Glue and Snowflake up to date.",
    )
