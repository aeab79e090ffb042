"""The extras of this distribution: what not every installation has."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec

from frazil.errors import ConfigureError


@dataclass(frozen=True, slots=True)
class Extra:
    """One extra.

    Args:
        name: As `pip install 'frazil[NAME]'` takes it.
        what: What it brings, as a message names it.
        modules: Those that no installation has without it.
    """

    name: str
    what: str
    modules: tuple[str, ...]

    @property
    def is_installed(self) -> bool:
        """Whether all its modules can be found; imports none."""
        return not self._missing

    def require(self) -> None:
        """Makes sure that it is installed.

        Raises:
            ConfigureError: It is not; the message has the line that installs it.
        """
        if self._missing:
            raise ConfigureError(
                f"{self.what} is not installed here: pip install 'frazil[{self.name}]'.",
                where=f"{sys.executable} has no {', '.join(self._missing)}",
            )

    @property
    def _missing(self) -> list[str]:
        return [module for module in self.modules if find_spec(module) is None]


def require(extra: str, what: str, *modules: str) -> None:
    """Makes sure that an extra is installed, which brings some modules; the message says `what` needs it."""
    Extra(extra, what, modules).require()
