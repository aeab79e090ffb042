"""An engine with a bug in it lands, merges and compacts: the verifier names what became of the table.

Each bug is planted into a copy of the engine, which runs Spark's tasks in its own process.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.connections import Connections
from kit.mutants.every import MUTANTS
from kit.mutants.mutant import Copy, Mutant
from kit.mutants.played import Verdict, play
from kit.mutants.specs import SPECS

pytestmark = pytest.mark.nightly  # unit/verify/test_planted.py plants faults into tables each time


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    made = Copy(tmp_path)
    made.make()
    return made


@pytest.mark.parametrize("mode", SPECS)
def test_without_a_bug_there_is_no_finding(mode: str, copy: Copy, connections: Connections) -> None:
    assert play(copy, mode, connections) == Verdict("", ())


@pytest.mark.parametrize("mutant", [pytest.param(m, id=m.name) for m in MUTANTS])
def test_the_verifier_names_what_a_bug_did(mutant: Mutant, copy: Copy, connections: Connections) -> None:
    copy.plant(mutant)

    verdict = play(copy, mutant.mode, connections)

    assert (verdict.finds, bool(verdict.error)) == (mutant.finds, not mutant.finds), verdict.error
