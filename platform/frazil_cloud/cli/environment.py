"""The settings of a deployment, for `frazil env --deployment NAME`."""

from __future__ import annotations

from typing import Any

from frazil.cli.console import console
from frazil.settings.profile import Settings
from frazil_cloud import CLOUD
from frazil_cloud.cli.administrator import administered
from frazil_cloud.deployment import open_clouds, reconciler_of
from frazil_cloud.identities import CROSSING, settings_of


def deployment_settings(name: str) -> dict[str, Any]:
    """What a profile says to work in a deployment; asks the clouds for it.

    Args:
        name: The deployment.

    Raises:
        ConfigureError: The extra `cloud` is not installed, or the settings administer nothing.
        NotYetError: The deployment was not made, or not all of it.
    """
    CLOUD.require()
    settings = Settings.load()
    spec = administered(settings, name).spec
    reconciler = reconciler_of(spec, settings)
    with console.status("asking the clouds"):
        known = reconciler.part(set(CROSSING) & set(reconciler.addresses)).facts()
        return settings_of(spec, known, open_clouds(spec, settings).secrets, settings)
