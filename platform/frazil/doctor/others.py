"""What packages beside the engine ask for: found by entry point, so the engine knows none of them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points

from frazil.doctor.probe import Finding
from frazil.settings.profile import Settings

GROUP = "frazil.doctor"
"""Entry points of this group are called with the settings and a number of seconds, and give findings."""


def look_at_others(settings: Settings, seconds: float) -> Iterator[Finding]:
    """What these packages found; nothing of one that the profile does not use."""
    for point in entry_points(group=GROUP):
        yield from point.load()(settings, seconds)
