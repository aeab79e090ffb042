"""What the verifier says of the table that an engine with a bug leaves."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from frazil.checks.result import Subject
from frazil.checks.verification import verify
from frazil.connections import Connections
from frazil.errors import NotYetError
from frazil.spec.names import things
from frazil.spec.topic import TableSpec
from kit.mutants.mutant import SECONDS, Copy
from kit.mutants.specs import spec_of

__all__ = ["play"]

_SCENARIO = Path(__file__).with_name("scenario.py")


@dataclass(frozen=True)
class Verdict:
    """What became of a scenario.

    Args:
        error: What the engine said itself; empty where it went through.
        finds: The kinds of the verifier's findings.
    """

    error: str
    finds: tuple[str, ...]


def play(copy: Copy, mode: str, connections: Connections) -> Verdict:
    """Lands the topic of a scenario by a copy of the engine, and judges the table by the engine as it is."""
    name = f"{mode}_{uuid4().hex[:12]}"
    done = subprocess.run(
        [sys.executable, str(_SCENARIO), mode, name], env=copy.environment,
        capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    error = "" if done.returncode == 0 else (done.stdout or done.stderr).strip().splitlines()[-1]
    return Verdict(error, _judged(spec_of(mode, name), connections, refused=bool(error)))


def _judged(spec: TableSpec, connections: Connections, *, refused: bool) -> tuple[str, ...]:
    """What the verifier finds; nothing where a landing that was refused left no table, or an empty one."""
    try:
        document = verify(Subject(spec, things(spec, connections.settings), connections)).document
    except NotYetError:
        document = {"unverifiable": "there is no table"}
    if why := document.get("unverifiable"):
        assert refused, why
        return ()
    return tuple(sorted(document["counts"]))
