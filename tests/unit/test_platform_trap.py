"""The name `platform/` is also the standard library's: these keep the two apart (design.md, The house)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import frazil

ROOT = Path(frazil.__file__).parents[2]


def test_platform_is_no_package() -> None:
    assert not (ROOT / "platform" / "__init__.py").exists()


def test_no_test_folder_is_a_package() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_no_module_is_called_platform() -> None:
    roots = [ROOT, *(ROOT / name for name in ("platform", "assets", "resources", "sensors", "tests"))]

    assert [root for root in roots if (root / "platform.py").exists()] == []


def test_the_standard_librarys_platform_is_found_from_the_checkout() -> None:
    """With the checkout first on the path, as `python -m` and Dagster's servers put it."""
    code = "import platform, frazil; print(platform.__file__); platform.python_version()"

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert Path(done.stdout.strip()).parent == Path(subprocess.__file__).parent


def test_no_table_in_pyproject_overrides_the_workspace() -> None:
    text = (ROOT / "pyproject.toml").read_text()

    assert "[tool.dagster" not in text
    assert "[tool.dg" not in text
