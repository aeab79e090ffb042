"""The verifier in this process: to start one and to import what it needs takes a second of CPU each time."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from frazil.checks import verification
from frazil_verify.findings import UnverifiableError
from frazil_verify.request import Request
from frazil_verify.verification import Verification

__all__ = ["judge_here", "judge_in_a_process"]

_in_a_process = verification._judged


def judge_here(patch: pytest.MonkeyPatch) -> None:
    """Has checks and tests ask the verifier without a process of its own."""
    patch.setattr(verification, "_judged", _here)


def judge_in_a_process(patch: pytest.MonkeyPatch) -> None:
    """Has them ask it as users do."""
    patch.setattr(verification, "_judged", _in_a_process)


def _here(asked: Mapping[str, Any], table: str) -> Mapping[str, Any]:
    request = Request.model_validate_json(json.dumps(asked))
    try:
        with tempfile.TemporaryDirectory(prefix="frazil-verify-") as folder:
            report = Verification.of(request, Path(folder)).report()
    except UnverifiableError as e:
        return {"unverifiable": str(e)}
    document: Mapping[str, Any] = json.loads(json.dumps(report.as_json(), default=str))
    return document
