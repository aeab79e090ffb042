"""On how many examples a property is tried: a few in every run, always the same ones.

FRAZIL_TEST_EXAMPLES says how many times as many; those are other ones each time.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

__all__ = ["examples"]

_TIMES = int(os.environ.get("FRAZIL_TEST_EXAMPLES", "1"))


def examples(usual: int, **more: Any) -> settings:
    return settings(max_examples=usual * _TIMES, derandomize=_TIMES == 1, deadline=None, **more)
