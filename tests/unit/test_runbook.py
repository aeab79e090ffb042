"""The runbook has each error and each check by its name, and no others."""

from __future__ import annotations

import re
from pathlib import Path

from assets.checks import attention
from assets.deployments.checks import DRIFT, VERIFY
from assets.mistakes import CAN_BE_USED
from frazil import errors
from frazil.checks.run import checks_of
from frazil.doctor.run import SYSTEMS
from frazil.errors import FrazilError
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.topic import TableSpec

PAGE = (Path(__file__).parents[2] / "docs" / "runbook.md").read_text()


def test_each_error_and_each_check_is_a_heading_and_each_heading_is_one() -> None:
    classes = {
        name
        for name, each in vars(errors).items()
        if isinstance(each, type) and issubclass(each, FrazilError)
    }
    specs = [
        TableSpec.model_validate(
            {
                "topic": "trades",
                "on_bad_record": "dead_letter",
                "publish": ["glue", "snowflake", "views"],
                "fresh_within": {"iceberg": "1m", "glue": "2m", "snowflake": "5m"},
            }
        ),
        DerivedSpec(table="flags", sql=Path("flags.sql")),
    ]
    others = {
        attention.CHECK,
        CAN_BE_USED,
        VERIFY,
        DRIFT,
        "values",
        *(f"{system}_access" for system in SYSTEMS),
    }
    checks = {name for spec in specs for name in checks_of(spec, Settings.load())}

    headings = re.findall(r"^### (.*)$", PAGE, re.MULTILINE)
    assert {name for heading in headings for name in heading.split(", ")} == classes | checks | others


def test_each_command_that_it_names_is_there() -> None:
    from typer.main import get_command

    from frazil.cli.main import make_app

    commands = get_command(make_app()).commands  # type: ignore[attr-defined]
    named = set(re.findall(r"frazil ([a-z]+) ", PAGE))

    assert named - set(commands) == set()
    for command, options in re.findall(r"`frazil ([a-z]+) ([^`]*)`", PAGE):
        known = {name for option in commands[command].load().params for name in option.opts}
        assert set(re.findall(r"--[a-z-]+", options)) - known == set(), command
