"""This Python: whether the modules that a command loads are there compiled, or are compiled each time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from frazil.doctor.probe import Finding
from frazil.quoting import in_shell

_FEW = 10
"""So many may have changed since the last command."""


def look_at_python(modules: Iterable[ModuleType] | None = None) -> Finding:
    """Looks for the compiled files of what this process has loaded; compiles nothing.

    A module that was loaded, and has none, is compiled again by the next command: Python may not keep it.
    """
    loaded = list(_sources(list(sys.modules.values()) if modules is None else modules))
    missing = [source for source, compiled in loaded if not compiled.exists()]
    asked = ("python", "find its modules compiled", "")
    if len(missing) <= _FEW:
        return Finding(*asked, "ok", 0.0)
    what = (
        f"{len(missing)} of {len(loaded)} modules of this command are compiled each time that one starts. "
        "Commands take about twice as long."
    )
    return Finding(*asked, "slow", 0.0, what, _remedy(missing))


def _sources(modules: Iterable[ModuleType]) -> Iterator[tuple[Path, Path]]:
    """The source of each module, and where its compiled form is kept."""
    for module in modules:
        spec = getattr(module, "__spec__", None)
        if spec is not None and spec.cached and (spec.origin or "").endswith(".py"):
            yield Path(spec.origin), Path(spec.cached)


def _remedy(sources: Iterable[Path]) -> str:
    places = {_place(source) for source in sources}
    compiling = f"python -m compileall -q {' '.join(in_shell(str(place)) for place in sorted(places))}"
    unset = "unset PYTHONDONTWRITEBYTECODE; " if "PYTHONDONTWRITEBYTECODE" in os.environ else ""
    return f"{unset}{compiling}"


def _place(source: Path) -> Path:
    """The folder that Python found it in: the one below which all its packages are."""
    folders = [Path(each).absolute() for each in sys.path if each]
    above = [folder for folder in folders if source.is_relative_to(folder)]
    return max(above, default=source.parent, key=lambda folder: len(folder.parts))
