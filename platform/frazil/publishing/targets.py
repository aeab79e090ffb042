"""The targets that there are, and those of one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from frazil.connections import Connections
from frazil.publishing.glue import Glue
from frazil.publishing.snowflake.tables import Snowflake
from frazil.publishing.target import Shown, Target
from frazil.publishing.views.target import Views
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath
from frazil.spec.table import AnyTable

TARGETS: dict[str, type[Target]] = {target.word: target for target in (Glue, Snowflake, Views)}
"""By their words in `publish`; each one behind those that it follows."""


OnFailure = Callable[[Target, Exception], None]


def show_all(
    spec: AnyTable,
    connections: Connections,
    on_failure: OnFailure,
    seen: Mapping[AssetPath, Shown | Exception | None] = MappingProxyType({}),
) -> list[Shown]:
    """Brings a table's targets in step, one after the other.

    Args:
        spec: The table.
        connections: To where it is.
        on_failure: Is called before the first failure is raised.
        seen: What targets show, by their assets, where somebody looked at many tables just now.

    Raises:
        Exception: What the first of them raised that failed, after `on_failure` was called; none follows it.
    """
    shown: list[Shown] = []
    for target in targets_of(spec, connections.settings):
        try:
            shown.append(_brought(target, connections, seen.get(target.path)))
        except Exception as e:
            on_failure(target, e)
            raise
    return shown


def _brought(target: Target, connections: Connections, seen: Shown | Exception | None) -> Shown:
    if isinstance(target, Snowflake) and isinstance(seen, Shown):
        return target.sync(connections, seen)
    return target.sync(connections)


def targets_of(spec: AnyTable, settings: Settings) -> tuple[Target, ...]:
    """One table in each target that its spec names, in the order in which they are brought in step."""
    own = settings.of(spec.connection)
    return tuple(target(spec, own) for word, target in TARGETS.items() if word in spec.publish)
