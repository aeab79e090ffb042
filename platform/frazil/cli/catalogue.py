"""Which commands a package has, told without importing any of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from frazil.extras import Extra

GROUP = "frazil.commands"
"""Each entry point of this group is a `Catalogue`: the engine knows no package that stands upon it."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The commands of one package.

    Args:
        package: Where the modules of its commands are.
        commands: Module -> its commands with the first paragraph of their help, in the order of `--help`.
        panel: The box of `--help` that shows them.
        extra: What has to be installed for them; where it is not, `--help` does not show them.
    """

    package: str
    commands: Mapping[str, Mapping[str, str]]
    panel: str | None = None
    extra: Extra | None = None

    @property
    def names(self) -> Iterator[str]:
        """The commands as people type them."""
        return (name for named in self.commands.values() for name in named)

    @property
    def is_installed(self) -> bool:
        """Whether the commands can run here."""
        return self.extra is None or self.extra.is_installed
