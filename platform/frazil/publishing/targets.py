"""The targets that there are, and those of one table."""

from __future__ import annotations

from frazil.publishing.glue import Glue
from frazil.publishing.snowflake.tables import Snowflake
from frazil.publishing.target import Target
from frazil.settings.profile import Settings
from frazil.spec.table import AnyTable

TARGETS: dict[str, type[Target]] = {target.word: target for target in (Glue, Snowflake)}
"""By their words in `publish`; each one behind those that it follows."""


def targets_of(spec: AnyTable, settings: Settings) -> tuple[Target, ...]:
    """One table in each target that its spec names, in the order in which they are brought in step."""
    own = settings.of(spec.connection)
    return tuple(target(spec, own) for word, target in TARGETS.items() if word in spec.publish)
