"""Snowflake for a team's own assets: the resource of dagster-snowflake, with the login of the settings."""

from __future__ import annotations

from typing import Any

import dagster as dg

from frazil.publishing.snowflake.login import connection_arguments
from frazil.settings.profile import Settings

_OF_DAGSTER = {"private_key_file": "private_key_path", "private_key_file_pwd": "private_key_password"}
"""What the connector calls otherwise."""


def snowflake_resources(settings: Settings) -> dict[str, dg.ResourceDefinition]:
    """`frazil_snowflake`, opened by the run that asks for it.

    An asset asks by name: `frazil_snowflake: dg.ResourceParam[SnowflakeResource]`. Frazil's own work goes
    past it, to the same connector: dagster_snowflake imports Snowpark, which takes 5 s of CPU in each run.
    """

    def opened(_: dg.InitResourceContext) -> Any:
        # Not at the top, for those 5 s.
        from dagster_snowflake import SnowflakeResource

        # A key that is no file goes past the resource, which would read base64 as PEM.
        known = SnowflakeResource.model_fields.keys() - {"private_key"}
        arguments = {
            _OF_DAGSTER.get(name, name): value for name, value in connection_arguments(settings).items()
        }
        own = {name: value for name, value in arguments.items() if name in known}
        further = {name: value for name, value in arguments.items() if name not in known}
        return SnowflakeResource(**own, additional_snowflake_connection_args=further)

    return {"frazil_snowflake": dg.ResourceDefinition(opened)}
