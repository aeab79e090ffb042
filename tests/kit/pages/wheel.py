"""Environments with what Frazil needs and no more, with its wheel, a clone of it, or neither."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from kit.pages.requirements import ROOT, reached

_BIN = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Environment:
    """A fresh environment, and a folder to work in that holds no checkout."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        return next((self.folder / "lib").glob("python3.*/site-packages"))

    def run(
        self, *command: str | Path, cwd: Path | None = None, **settings: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program with nothing in its environment but what it is told."""
        return subprocess.run(
            command,
            cwd=cwd or self.folder,
            env={
                "PATH": os.environ["PATH"],
                "FRAZIL_HOME": str(self.folder / "home"),
                "COLUMNS": "200",
                **settings,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout, built without a network."""
    subprocess.run(
        [_BIN / "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True, capture_output=True
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_environment(folder: Path, wheel: Path | None = None, *others: str) -> Environment:
    """Sees the locked distributions of the engine, and others by name; has the wheel, if any, installed."""
    environment = _linked(folder, reached((), others))
    if wheel:
        _install(environment, wheel)
    return environment


def make_environment_of(clone: Path) -> Environment:
    """What `make .venv/.ready` makes of a clone, without downloads: its own code, and all that is locked."""
    environment = _linked(clone / ".venv", reached(("local", "cloud", "dev")))
    _install(environment, "--no-build-isolation", "--editable", clone)
    for script in (file for file in _BIN.iterdir() if file.is_file() and not file.is_symlink()):
        _copy_script(script, environment)
    (clone / ".venv" / ".ready").touch()
    return environment


def _linked(folder: Path, names: Iterable[str]) -> Environment:
    venv.create(folder, with_pip=False, symlinks=True)
    environment = Environment(folder)
    for name in names:
        _link(name, environment.site)
    return environment


def _install(environment: Environment, *what: str | Path) -> None:
    install = ("pip", "install", "--quiet", "--offline", "--no-deps", "--python", environment.python, *what)
    subprocess.run([_BIN / "uv", *install], check=True, capture_output=True)


def _copy_script(script: Path, environment: Environment) -> None:
    """Lets a command of ours run in another environment."""
    copy, text = environment.folder / "bin" / script.name, script.read_bytes()
    if text.startswith(b"#!") and not copy.exists():
        copy.write_bytes(text.replace(os.fsencode(sys.prefix), os.fsencode(environment.folder)))
        copy.chmod(0o755)


def _link(name: str, site: Path) -> None:
    """Lets a site see a distribution that is installed here."""
    try:
        package = distribution(name)
    except PackageNotFoundError:  # for other systems only
        return
    for top in {file.parts[0] for file in package.files or () if file.parts[0] not in ("..", "__pycache__")}:
        if not (site / top).exists():
            (site / top).symlink_to(Path(str(package.locate_file(top))))
