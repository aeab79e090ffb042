"""What `frazil doctor` shows: a table that fits a terminal, then each thing that is missing, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.cli.console import paper
from frazil.cli.views import doctor
from frazil.doctor.probe import Finding
from kit.runs.shell import Command

ACL = "kafka-acls.sh --bootstrap-server broker-1.kafka.example:9092 --add --operation Read --topic {}"
LONG = "iceberg_tables_of_a_team_with_a_long_name.orders_of_customers_in_europe"
FINDINGS = [
    Finding("python", "find its modules compiled", "", "ok", 0.0),
    Finding("kafka", "reach every broker", "", "ok", 0.12),
    *(Finding("kafka", "describe the topic", f"t{n}", "ok", 0.1) for n in range(300)),
    Finding("kafka", "read the topic", "t1", "missing", 0.1, "Kafka does not allow it.", ACL.format("t1")),
    Finding("kafka", "read the topic", "t2", "missing", 0.1, "Kafka does not allow it.", ACL.format("t2")),
    Finding("glue", "read the table's entry", LONG, "unproven", 0.1, "It is not there.", "glue:GetTable"),
    Finding("snowflake", "", "", "not needed", 0.0),
]


@pytest.fixture
def frazil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command on a terminal of 80 columns, where all was asked."""
    monkeypatch.setenv("FRAZIL_PIPELINES", str(tmp_path))
    monkeypatch.setattr(doctor, "look_at_python", lambda: FINDINGS[0])
    monkeypatch.setattr(doctor, "examine", lambda *_, **__: FINDINGS[1:])
    monkeypatch.setattr(paper, "width", 80)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    return Command(monkeypatch, capsys)


def test_the_table_fits_80_columns_and_what_is_alike_is_one_row(frazil: Command) -> None:
    result = frazil("doctor")
    table = result.out

    assert result.code == 5
    assert max(map(len, table.splitlines())) <= 80
    assert "300 of them" in table
    assert "not needed" in table


def test_each_refusal_is_told_once_with_every_line_that_mends_it_unbroken(frazil: Command) -> None:
    result = frazil("doctor")

    assert result.err.count("Kafka does not allow it.") == 1
    assert f"  Fix: {ACL.format('t1')}\n" in result.err
    assert f"  Fix: {ACL.format('t2')}\n" in result.err
    assert "  Needs: glue:GetTable\n" in result.err


def test_scripts_get_all_of_it(frazil: Command) -> None:
    result = frazil("doctor", "--json")

    assert (result.code, result.document["fine"]) == (5, False)
    assert len(result.document["findings"]) == len(FINDINGS)
