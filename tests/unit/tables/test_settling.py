"""Work on a branch is done again where others commit meanwhile, however long it takes."""

from __future__ import annotations

import time

import pytest

from frazil.errors import CommitConflictError
from frazil.tables.commits.works import until_settled

MINUTE = 60.0


def test_a_write_of_a_minute_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    passed, now = [0.0], time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + passed[0])
    done: list[str] = []

    def write(row: str) -> int:
        passed[0] += MINUTE
        done.append(row)
        if len(done) < 3:
            raise CommitConflictError("Others commit.")
        return len(done)

    assert until_settled(write, "a row") == 3
