"""`frazil forget`: counted first, done, and proved by its own report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from frazil.landing.land import land
from frazil.upkeep.forgetting.condition import condition_of
from frazil.upkeep.forgetting.report import ForgetReport
from kit.readers.opened import table_of
from kit.records.topics import Topic
from kit.runs.shell import Command


@pytest.mark.nightly
def test_forget_takes_rows_out_and_proves_by_its_report_that_they_are_gone(
    frazil: Command, topic: Topic, name: str, tmp_path: Path
) -> None:
    land(topic.spec, topic.connections)
    file, where = tmp_path / "report.json", "quantity = 4"

    vague = frazil("forget", name, "--where", "quantity > 4")
    counted = frazil("forget", name, "--where", where, "--dry-run", "--json")
    done = frazil("forget", name, "--where", where, "--now", "--yes", "--report", str(file))
    proved = frazil("forget", name, "--where", where, "--prove", str(file), "--json")
    other = frazil("forget", name, "--where", "quantity = 5", "--prove", str(file))
    left = forget_report(file, "quantity = 5", topic)
    not_gone = frazil("forget", name, "--where", "quantity = 5", "--prove", str(left))

    assert (vague.code, counted.code, done.code, proved.code) == (2, 0, 0, 0)
    assert counted.document["gone"][0]["rows"] == 1
    assert [gone["rows"] for gone in json.loads(file.read_text())["gone"]] == [1]
    assert proved.document[0]["found"] == []
    assert proved.document[0]["objects"] > 3
    assert (other.code, not_gone.code) == (2, 1)
    assert "still hold" in not_gone.err


def forget_report(file: Path, where: str, topic: Topic) -> Path:
    """A report of rows that are still there."""
    condition = condition_of(table_of(topic).schema(), where)
    report = ForgetReport(str(topic.things.table), condition.columns, condition.digest, 0.0, 0.0)
    other = file.with_name("other.json")
    other.write_text(json.dumps(report.document))
    return other
