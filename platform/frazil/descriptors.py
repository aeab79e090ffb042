"""How many files and connections a process may have open."""

from __future__ import annotations

import resource

_ENOUGH = 65_536
"""A process of Frazil's has a few hundred open; systemd and shells allow 1,024, whatever the hard limit."""


def raise_soft_limit() -> None:
    """From now on this process may open as many as its hard limit allows, and what it starts, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(_ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
