"""On how many examples a property is tried: a part of the usual ones in every run, always the same.

FRAZIL_TEST_EXAMPLES says how many times the usual number: 1 in each night. Where it is more, those are other
ones each time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, settings

__all__ = ["examples"]

_TIMES = float(os.environ.get("FRAZIL_TEST_EXAMPLES", "0.3"))


def examples(usual: int, *, allowed: Iterable[HealthCheck] = (), **more: Any) -> settings:
    """Settings of a property: a busy machine makes it slower, and never red.

    Args:
        usual: Examples of a night.
        allowed: Health checks that do not count here.
    """
    return settings(
        max_examples=max(10, round(usual * _TIMES)),
        derandomize=_TIMES <= 1,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, *allowed],
        **more,
    )
