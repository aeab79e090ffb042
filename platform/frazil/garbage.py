"""How often Python looks for garbage in a process of Frazil's: imports leave none, and looking costs CPU."""

from __future__ import annotations

import atexit
import gc

_OBJECTS = 400_000  # that come before garbage is looked for; a short command makes 250,000
_PYTHONS = gc.get_threshold()


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
