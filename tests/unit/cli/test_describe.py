"""What `frazil describe` says of a table to people, and what `rollback` takes of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from frazil.cli.moment import moment_of
from frazil.cli.views.describe import _show

SNAPSHOT, AT = 8817266187219372001, datetime(2026, 11, 22, 21, 5, 9, 120_000, UTC)
TOLD: dict[str, Any] = {
    "state": {"identifier": "local.orders", "snapshot_id": SNAPSHOT, "rows": 1234567,
              "landed_at": AT.timestamp(), "position": {"0": 1000}, "reason": "", "freshness": None},
    "landings": [{"snapshot_id": SNAPSHOT, "at": "2026-11-22T21:05:09.120Z", "at_ms": 1, "records": 10,
                  "gaps": 0, "spans": {"0": [990, 1000]}}],
    "schema": [],
}  # fmt: skip


def test_people_read_whole_ids_times_and_grouped_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    _show(TOLD)

    output = capsys.readouterr().out
    assert str(SNAPSHOT) in output
    assert "1,234,567" in output
    assert output.count("2026-11-22T21:05:09.120Z") == 2
    assert "at_ms" not in output
    assert "0: 990-1000" in output
    assert "gaps" not in output
    assert "schema" not in output


def test_a_rollback_takes_the_ids_and_times_that_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    _show(TOLD)

    header, row = capsys.readouterr().out.partition("landings")[2].split("\n")[1:3]
    shown = dict(zip(header.replace("snapshot id", "snapshot").split(), row.split(), strict=False))
    assert (moment_of(shown["snapshot"]), moment_of(shown["at"])) == (SNAPSHOT, AT)
