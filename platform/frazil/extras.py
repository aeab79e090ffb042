"""The extras of this distribution: what not every installation has."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from frazil.errors import ConfigureError


def require(extra: str, what: str, *modules: str) -> None:
    """Makes sure that an extra is installed, which brings some modules; the message says `what` needs it."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise ConfigureError(
            f"{what} is not installed here: pip install 'frazil[{extra}]'.",
            where=f"{sys.executable} has no {', '.join(missing)}",
        )
