"""A profile and its variables are read, or refused by the setting's name; no secret of them is told."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from frazil.errors import FrazilError
from frazil.settings.profile import Settings
from kit.drawn.fuzzing import fuzz
from kit.drawn.mutation import Mutator

_PLANTED = "planted7f3a"
_PROFILE: dict[str, Any] = {
    "cluster": "c",
    "kafka": {
        "bootstrap_servers": "h:1",
        "mechanism": "PLAIN",
        "username": "u",
        "password": _PLANTED,
        "tls": True,
    },
    "registry": {"url": "http://127.0.0.1:1", "user_info": f"u:{_PLANTED}", "token": "env:HOME"},
    "rest": {"uri": "http://127.0.0.1:1", "token": _PLANTED},
    "aws": {"region": "r", "access_key": _PLANTED, "secret_key": "env:HOME"},
    "spark": {"remote": "sc://h:1", "token": _PLANTED},
    "snowflake": {"account": "a", "private_key_path": "/nowhere", "port": 1},
}
_NAMES = (
    "FRAZIL_KAFKA", "FRAZIL_KAFKA__PASSWORD", "FRAZIL_KAFKA__CLIENT", "FRAZIL_KAFKA__TLS", "FRAZIL_REGISTRY",
    "FRAZIL_SPARK__TOKEN", "FRAZIL_AWS__SECRET_KEY", "FRAZIL_SNOWFLAKE", "FRAZIL_NOBODY", "FRAZIL_CATALOG",
    "FRAZIL_CONNECTIONS", "FRAZIL_ALARMS__MAIL", "FRAZIL_REST__TOKEN__X",
)  # fmt: skip


def given(mutator: Mutator) -> tuple[str, dict[str, str]]:
    """A broken profile, and broken variables."""
    names = mutator.random.sample(_NAMES, mutator.random.choice((0, 1, 2)))
    values = {name: mutator.text(json.dumps(_PROFILE["kafka"])) for name in names}
    profile = mutator.document(_PROFILE).replace(
        "file:///etc/passwd", "file:///nowhere"
    )  # any file may hold a secret
    return profile, {n: v.replace("\0", "") for n, v in values.items()}


def test_any_profile_is_read_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "profile.json"
    monkeypatch.setenv("FRAZIL_PROFILE", str(file))

    def load(case: tuple[str, dict[str, str]]) -> None:
        file.write_bytes(case[0].encode("utf-8", "surrogatepass"))
        with pytest.MonkeyPatch.context() as patch:
            for name, value in case[1].items():
                patch.setenv(name, os.fsdecode(value.encode("utf-8", "surrogatepass")))
            shown = ""
            try:
                shown = repr(Settings.load())
            except FrazilError as e:
                shown = str(e)
                raise
            finally:
                assert not _is_shown(shown, case)

    assert fuzz("profile", given, load, writes=(tmp_path,))


def _is_shown(text: str, case: tuple[str, dict[str, str]]) -> bool:
    """Whether a secret is told that stands where secrets stand; a broken profile may hold it anywhere."""
    try:
        document = json.loads(case[0])
    except (ValueError, RecursionError):
        return False
    good = (
        all(document == _PROFILE or _PROFILE.get(k) == v for k, v in document.items())
        if isinstance(document, dict)
        else False
    )
    return good and _PLANTED in text.replace(f"environment variable {_PLANTED}", "")
