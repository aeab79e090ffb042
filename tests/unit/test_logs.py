"""Log lines as JSON: one object a line, for a collector, with what is known and without secrets."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from frazil.cli.console import complain
from frazil.cli.main import run
from frazil.errors import OffsetsLostError
from frazil.settings.profile import Settings
from frazil.telemetry.logs import configure_logs

log = logging.getLogger("frazil.landing.land")


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Callable[[], list[dict[str, Any]]]:
    """What was written to stderr since the last call, as JSON."""
    return lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def configure(**log: str) -> None:
    settings = Settings.load(log={"format": "json", **log}, registry={"user_info": 'me:a "quoted" secret'})
    configure_logs(settings.log, settings)


def test_a_line_has_what_is_known_beside_its_message(lines: Callable[[], list[dict[str, Any]]]) -> None:
    configure()

    log.info("landed %s", "all", extra={"table": "local.trades", "topic": "trades", "snapshot_id": 7})

    (line,) = lines()
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "INFO", "logger": "frazil.landing.land", "message": "landed all",
        "table": "local.trades", "topic": "trades", "snapshot_id": 7,
    }  # fmt: skip


def test_a_trace_is_on_the_same_line(lines: Callable[[], list[dict[str, Any]]]) -> None:
    configure()

    try:
        _ = 1 / 0
    except ZeroDivisionError:
        log.exception("failed")

    (line,) = lines()
    assert "ZeroDivisionError" in line["trace"]


def test_no_secret_of_the_settings_is_in_a_line(lines: Callable[[], list[dict[str, Any]]]) -> None:
    configure()

    log.warning('GET me:a "quoted" secret@registry', extra={"where": 'me:a "quoted" secret'})

    (line,) = lines()
    assert (line["message"], line["where"]) == ("GET ***@registry", "***")


@pytest.mark.parametrize(("level", "count"), [("INFO", 1), ("WARNING", 0)])
def test_the_level_is_that_of_frazils_own_lines(
    lines: Callable[[], list[dict[str, Any]]], level: str, count: int
) -> None:
    configure(level=level)

    log.info("landed")
    logging.getLogger("somebody.else").info("hello")

    assert len(lines()) == count


def test_a_second_call_does_not_double_the_lines(lines: Callable[[], list[dict[str, Any]]]) -> None:
    configure()
    configure()

    log.info("landed")

    assert len(lines()) == 1


def test_what_a_command_complains_of_is_a_line(
    lines: Callable[[], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_LOG__FORMAT", "json")
    monkeypatch.setenv("FRAZIL_PIPELINES", "/not/there")
    monkeypatch.setattr("sys.argv", ["frazil", "land", "--all"])

    with pytest.raises(SystemExit):
        run()

    (line,) = lines()
    assert (line["level"], line["error"]) == ("ERROR", "SpecError")
    assert "/not/there" in line["message"]


def test_people_are_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    configure(format="text")

    complain(OffsetsLostError("Records are gone.", todo="Land more often."))

    assert capsys.readouterr().err == "Records are gone.\n  Next: Land more often.\n"


def test_pytest_goes_through_all_loggers_also_while_a_library_makes_one(fresh_name: str) -> None:
    """Before each test pytest 9.1 does that; a library may come in another thread meanwhile."""
    for logger in logging.root.manager.loggerDict.values():
        logging.getLogger(f"{fresh_name}.{id(logger)}")

    assert fresh_name in logging.root.manager.loggerDict
