"""What a process of Frazil's asks of its machine: how many files it may open, how often it looks for garbage.

Imports leave no garbage, and looking for it costs CPU. In a worker of Spark so does looking for new modules.
"""

from __future__ import annotations

import atexit
import gc
import resource
import sys
from functools import cache
from zipimport import zipimporter

_OBJECTS = 400_000  # that come before garbage is looked for; a short command makes 250,000
_PYTHONS = gc.get_threshold()
_ENOUGH = 65_536
"""A process of Frazil's has a few hundred open; systemd and shells allow 1,024, whatever the hard limit."""


def look_rarely() -> None:
    """From now on garbage is looked for behind many new objects, and no more as the process ends.

    A tenth of a short command was looking for it meanwhile, and a quarter of it at its end, in all that is
    there, though all of its memory goes anyway. What is frozen is left out.
    """
    gc.set_threshold(_OBJECTS)
    atexit.register(gc.freeze)


def look_as_python_does() -> None:
    """From now on garbage is looked for as often as Python does; what is there by now is taken to stay.

    For what goes on for long: clients that nobody holds any more keep memory and descriptors until then.
    """
    gc.freeze()
    gc.set_threshold(*_PYTHONS)


def spare_imported_modules() -> None:
    """From now on Spark does not look through what this worker has imported, behind each task and before it.

    Behind each it looks for garbage in all that is there (`pyspark.daemon`), and before each it lets Python
    forget what folders hold (`pyspark.worker_util`): then each package that came from `pyspark.zip` reads the
    whole directory of that file again, which took three times the CPU of a small landing's tasks. Without
    its finder a package is found as before, by a new one.
    """
    _freeze(len(sys.modules))
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            sys.path_importer_cache.pop(path, None)


@cache
def _freeze(modules: int) -> None:
    """Once for each number of modules: what later tasks leave behind is garbage that has to go."""
    gc.freeze()


def raise_soft_limit() -> None:
    """From now on this process may open as many as its hard limit allows, and what it starts, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(_ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
