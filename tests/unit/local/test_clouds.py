"""A stack has clouds if it is asked for them, and remembers it."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.errors import ConfigureError
from frazil.settings.profile import Settings
from frazil_local.home import Home
from frazil_local.parts import known_stack, prepared_stack
from frazil_local.stack import Stack
from kit.stack.own_stack import names_of_parts


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.make()
    return home


def names(stack: Stack) -> set[str]:
    return {name for name in names_of_parts(stack) if name.startswith("cloud-")}


def test_a_plain_stack_has_none(home: Home) -> None:
    assert names(prepared_stack(home, {})) == set()
    assert not home.administrator.exists()


def test_one_that_was_started_with_clouds_has_them_at_the_next_start(home: Home) -> None:
    with_clouds = names(prepared_stack(home, {}, clouds=True))

    assert "cloud-aws" in with_clouds
    assert names(known_stack(home)) == with_clouds
    assert names(prepared_stack(home, {})) == with_clouds
    assert names(prepared_stack(home, {}, clouds=False)) == set()


def test_who_may_make_everything_in_them_has_a_profile_that_only_its_owner_reads(home: Home) -> None:
    stack = prepared_stack(home, {}, clouds=True)

    administrator = Settings.of_profile(home.administrator)

    assert administrator.aws.endpoint == f"http://127.0.0.1:{stack.ports['cloud-aws']}"
    assert home.administrator.stat().st_mode & 0o777 == 0o600


def test_clouds_come_and_go_while_the_stack_is_down(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared_stack(home, {})
    monkeypatch.setattr(Stack, "is_running", lambda _: True)

    with pytest.raises(ConfigureError, match="it is without clouds") as refused:
        prepared_stack(home, {}, clouds=True)

    assert "frazil up --with cloud" in refused.value.todo


def test_wiping_a_stack_forgets_its_clouds(home: Home) -> None:
    prepared_stack(home, {}, clouds=True).wipe()

    assert names(known_stack(home)) == set()
    assert not home.administrator.exists()
