"""A repository that `frazil init` makes, as far as it goes without servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from frazil.cli.authoring.repository import TEMPLATES, own_requirement
from frazil.cli.views.sandbox import sandbox
from frazil_dashboard.pages import read_page
from kit.runs.shell import Command

CI = ".github/workflows/check.yml"


@pytest.fixture
def frazil(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    monkeypatch.setenv("FRAZIL_HOME", str(tmp_path / "home"))
    return Command(monkeypatch, capsys)


@pytest.fixture
def repository(frazil: Command, tmp_path: Path) -> Path:
    assert frazil("init", str(tmp_path / "ours")).code == 0
    return tmp_path / "ours"


def test_it_has_all_its_files_and_each_names_only_files_that_are_there(repository: Path) -> None:
    files = {str(file.relative_to(repository)) for file in repository.rglob("*") if file.is_file()}

    assert files == set(TEMPLATES)
    compile((repository / "produce_orders.py").read_text(), "produce_orders.py", "exec")
    assert json.loads((repository / "pipelines/shop/orders.avsc").read_text())["name"] == "Order"


def test_its_requirements_install_the_frazil_that_made_it(frazil: Command, repository: Path) -> None:
    """It named the index, where a checkout is not: "No matching distribution found"."""
    lines = (repository / "requirements.txt").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("frazil")]

    assert line == own_requirement("dashboard,local")
    assert "{requirement}" not in "".join(lines)


def test_its_pipelines_are_without_mistakes(frazil: Command, repository: Path) -> None:
    answer = frazil("validate", "--json", FRAZIL_PIPELINES=str(repository / "pipelines"))

    assert (answer.code, answer.document) == (0, {"tables": ["local.orders"], "mistakes": []})


def test_a_mistake_is_told_with_its_line_and_fails_the_check(frazil: Command, repository: Path) -> None:
    file = repository / "pipelines/shop/defs.yaml"
    file.write_text(file.read_text().replace("partitions:", "partitons:"))

    answer = frazil("validate", FRAZIL_PIPELINES=str(repository / "pipelines"))

    assert answer.code == 2
    assert f"{file}:7: tables[0].partitons: unknown name; did you mean 'partitions'?" in answer.err


def test_a_check_of_a_column_that_is_nowhere_has_the_line_of_its_table(
    frazil: Command, repository: Path
) -> None:
    file = repository / "pipelines/shop/defs.yaml"
    checks = "checks: [{name: paid, expect: amont >= 0}]\n      partitions:"
    file.write_text(file.read_text().replace("partitions:", checks))

    answer = frazil("validate", FRAZIL_PIPELINES=str(repository / "pipelines"))

    assert answer.code == 2
    assert "defs.yaml:5: checks: paid: 'amont >= 0' can't be asked of rows of orders" in answer.err


def test_its_page_is_without_mistakes(repository: Path) -> None:
    with sandbox() as duck:
        page = read_page(repository / "pipelines/shop/dashboard.yaml", duck)

    assert [chart.kind for chart in page.charts] == ["number", "bar", "table"]


def test_what_is_there_is_never_written_over(frazil: Command, repository: Path) -> None:
    readme = repository / "README.md"
    readme.write_text("mine")

    answer = frazil("init", str(repository))

    assert answer.code == 2
    assert answer.is_clear
    assert readme.read_text() == "mine"


def test_a_folder_that_can_not_be_made_is_told(frazil: Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert "can't be written: Not a directory" in frazil("init", str(tmp_path / "file" / "below")).err


def test_the_check_of_its_ci_passes(repository: Path) -> None:
    steps = yaml.safe_load((repository / CI).read_text())["jobs"]["pipelines"]["steps"]
    (check,) = (step["run"] for step in steps if "frazil validate" in step.get("run", ""))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        ["bash", "-ec", check], cwd=repository, env={"PATH": path, "HOME": str(repository)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "Tables that can be used: 1. Pipelines with mistakes: 0.\n")
