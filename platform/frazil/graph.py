"""The asset graph in plain words: found by entry point, so the command line knows no Dagster."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import entry_points

from frazil.errors import MissingError, UsageError

GROUP = "frazil.graph"
"""The entry point of this group is called without arguments and gives an `AssetGraph`."""

Path = tuple[str, ...]
"""An asset's key."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One asset, and those that it is made from; its kind is kafka, iceberg, glue, or anything else."""

    path: Path
    kind: str
    group: str
    upstream: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class AssetGraph:
    """All assets, by key."""

    assets: tuple[Asset, ...]

    @property
    def edges(self) -> tuple[tuple[Path, Path], ...]:
        """What is made from what: (upstream, asset)."""
        return tuple((upstream, asset.path) for asset in self.assets for upstream in asset.upstream)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that there are."""
        return tuple(sorted({asset.group for asset in self.assets}))

    def of(self, groups: Collection[str]) -> AssetGraph:
        """The assets of some groups, and what is made from what among them."""
        if unknown := sorted(set(groups) - set(self.groups)):
            raise UsageError(
                f"There is no group {', '.join(unknown)}.",
                todo=f"Known are {', '.join(self.groups) or 'none'}.",
            )
        chosen = [asset for asset in self.assets if asset.group in groups]
        known = {asset.path for asset in chosen}
        return AssetGraph(
            tuple(Asset(a.path, a.kind, a.group, tuple(u for u in a.upstream if u in known)) for a in chosen)
        )


def load_graph() -> AssetGraph:
    """The graph of the profile in force."""
    for point in entry_points(group=GROUP):
        graph: AssetGraph = point.load()()
        return graph
    raise MissingError("Nobody knows the asset graph.", todo="Install Frazil again.")
