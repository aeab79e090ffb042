"""What a process of Frazil's asks of its machine: how many files it may open, how often it looks for garbage.

Imports leave no garbage, and looking for it costs CPU.
"""

from __future__ import annotations

import atexit
import gc
import resource

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


def raise_soft_limit() -> None:
    """From now on this process may open as many as its hard limit allows, and what it starts, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(_ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
