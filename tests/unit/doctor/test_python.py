"""An environment whose modules are compiled at each start is named, with the line that compiles them."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from frazil.doctor.python import look_at_python


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder on Python's path; a shell would take its name for two."""
    folder = tmp_path / "my modules"
    folder.mkdir()
    return folder


@pytest.fixture
def modules(place: Path, monkeypatch: pytest.MonkeyPatch) -> Sequence[ModuleType]:
    """Twenty modules, as loaded from a folder on Python's path that nobody may write to."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(place)])
    return [loaded(place / f"m{n}.py") for n in range(20)]


def loaded(file: Path) -> ModuleType:
    file.write_text("ONE = 1\n")
    spec = spec_from_file_location(file.stem, file)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_modules_that_are_compiled_each_time_are_named_with_what_compiles_them(
    modules: Sequence[ModuleType], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)

    finding = look_at_python(modules)

    assert (finding.status, finding.fine) == ("slow", True)
    assert "20 of 20 modules" in finding.what
    assert finding.mend == f"python -m compileall -q '{place}'"


def test_after_that_line_nothing_is_slow(modules: Sequence[ModuleType]) -> None:
    finding = look_at_python(modules)
    _, _, command = finding.mend.rpartition("; ")
    subprocess.run([sys.executable, *shlex.split(command)[1:]], check=True)

    assert look_at_python(modules).status == "ok"


def test_the_variable_that_forbids_it_is_named(
    modules: Sequence[ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    assert look_at_python(modules).mend.startswith("unset PYTHONDONTWRITEBYTECODE; ")


def test_modules_without_a_source_do_not_count() -> None:
    assert look_at_python([sys, ModuleType("made")]).status == "ok"
