"""`frazil deploy` upon a cloud that is a dictionary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from frazil_cloud import deployment
from kit.clouds.dictionary_cloud import Cloud, Thing
from kit.runs.shell import Command, Output

SHOP = """type: assets.deployments.Deployment
attributes:
  name: shop
  aws: {bucket: shop-bucket}
"""


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], None]:
    """Writes the deployment's file, with more parts."""
    file = tmp_path / "deployments" / "shop" / "defs.yaml"
    file.parent.mkdir(parents=True)

    def write(more: str) -> None:
        file.write_text(SHOP + more)

    return write


@pytest.fixture
def deploy(
    cloud: Cloud,
    write: Callable[[str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Output]:
    """The command, in a folder with one deployment."""
    things = [
        Thing(cloud, "aws/role", ("aws/bucket", "confluent/topic/trades")),
        Thing(cloud, "aws/bucket", fields={"public": False}),
        Thing(cloud, "confluent/topic/trades", works=lambda facts: facts.get("broken", "")),
    ]
    monkeypatch.setattr(deployment, "OBJECTS", {"all": lambda spec, clouds: things})
    write("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAZIL_DEPLOYMENTS", str(tmp_path / "deployments"))
    command = Command(monkeypatch, capsys)
    return lambda *arguments, **env: command("deploy", *arguments, **env)
