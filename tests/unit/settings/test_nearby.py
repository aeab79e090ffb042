"""Nobody is told to start a stack here because a server elsewhere does not answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.settings.nearby import to_start
from kit.pages.advice import ROOT


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:9092", "http://localhost:8181", "sc://127.0.0.1:15002", "[::1]:9092", "http://127.0.0.2"],
)
def test_what_is_on_this_machine_is_started_by_frazil_up(address: str) -> None:
    assert "`frazil up` starts" in to_start(address)


@pytest.mark.parametrize(
    "address",
    [
        "pkc-1.eu.confluent.cloud:9092,localhost:9092", "https://glue.eu-central-1.amazonaws.com", "Glue", "",
        "https://acme.snowflakecomputing.com:443", "10.0.0.7:9092", "sc://spark.svc:15002", "http://[::",
    ],
)  # fmt: skip
def test_what_is_elsewhere_is_looked_at_there(address: str) -> None:
    """`frazil up` would have written a profile, and the next landing have taken a part of it."""
    assert "frazil up" not in to_start(address)


def test_nobody_else_says_what_frazil_up_starts() -> None:
    engine = ROOT / "platform" / "frazil"
    others = [file for file in engine.parent.rglob("*.py") if "`frazil up` starts what" in file.read_text()]
    assert others == [Path(engine / "settings" / "nearby.py")]
