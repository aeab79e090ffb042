"""The verifier in this process: to start one and to import what it needs takes a second of CPU each time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from frazil.checks import verification
from frazil_verify.__main__ import verified

__all__ = ["judge_here", "judge_in_a_process"]

_in_a_process = verification._judged


def judge_here(patch: pytest.MonkeyPatch) -> None:
    """Has checks and tests ask the verifier without a process of its own."""
    patch.setattr(verification, "_judged", _here)


def judge_in_a_process(patch: pytest.MonkeyPatch) -> None:
    """Has them ask it as users do."""
    patch.setattr(verification, "_judged", _in_a_process)


def _here(asked: Mapping[str, Any], table: str) -> Mapping[str, Any]:
    _, answer = verified(json.dumps(asked))
    document: Mapping[str, Any] = json.loads(answer)
    return document
