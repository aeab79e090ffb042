"""On how many examples a property is tried: a few in every run, always the same ones.

FRAZIL_TEST_EXAMPLES says how many times as many; those are other ones each time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, settings

__all__ = ["examples"]

_TIMES = int(os.environ.get("FRAZIL_TEST_EXAMPLES", "1"))


def examples(usual: int, *, allowed: Iterable[HealthCheck] = (), **more: Any) -> settings:
    """Settings of a property: a busy machine makes it slower, and never red.

    Args:
        usual: Examples in every run.
        allowed: Health checks that do not count here.
    """
    return settings(
        max_examples=usual * _TIMES,
        derandomize=_TIMES == 1,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, *allowed],
        **more,
    )
