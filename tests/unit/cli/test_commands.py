"""`frazil --help` tells what each command does without importing any; these tests keep that true."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
import typer
from typer.main import get_command, get_group

from frazil.cli.catalogue import Catalogue
from frazil.cli.commands import catalogues
from frazil.cli.main import make_app

HEAVY = {
    "authlib", "boto3", "botocore", "confluent_kafka", "cryptography", "dagster", "duckdb", "fastavro",
    "frazil.settings", "google.protobuf", "grpc", "pandas", "pyarrow", "pydantic", "pyiceberg", "pyspark",
    "requests", "snowflake.connector", "sqlglot",
}  # fmt: skip

NOT_ASKED = {
    "authlib", "confluent_kafka.schema_registry", "dagster", "duckdb", "fakesnow", "frazil.checks.run",
    "frazil.derive.derive", "frazil_cloud.deployment", "frazil_local.stack", "grpc", "numpy", "pandas",
    "pyspark", "snowflake.connector",
}  # fmt: skip
"""What a command has no use for that only looks how tables stand."""


def imported(*arguments: str) -> set[str]:
    """What a command line imports, in a process of its own."""
    code = """
import json, sys
from frazil.cli.main import run
try:
    run()
finally:
    print(json.dumps([*sys.modules]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    modules: list[str] = json.loads(done.stdout.splitlines()[-1])
    return set(modules)


CATALOGUES = {catalogue.package: catalogue for catalogue in catalogues()}


def apps(package: str) -> dict[str, typer.Typer]:
    """The Typer app of each module of a package that has one."""
    path = import_module(package).__path__
    names = [m.name.removeprefix(f"{package}.") for m in walk_packages(path, f"{package}.")]
    modules = {name: import_module(f"{package}.{name}") for name in names}
    return {name: m.app for name, m in modules.items() if hasattr(m, "app")}


def helps(app: typer.Typer) -> dict[str, str]:
    """The first paragraph of what each command of an app says of itself."""
    whole = typer.Typer()
    whole.add_typer(app)
    commands = get_group(whole).commands
    return {name: " ".join((c.help or "").split("\n\n")[0].split()) for name, c in commands.items()}


def test_the_engine_and_the_packages_upon_it_have_commands() -> None:
    assert list(CATALOGUES) == ["frazil.cli", "frazil_cloud.cli", "frazil_dashboard.cli", "frazil_local.cli"]


@pytest.mark.parametrize("catalogue", CATALOGUES.values(), ids=CATALOGUES)
def test_the_catalogue_says_of_each_command_what_its_own_help_says(catalogue: Catalogue) -> None:
    assert catalogue.commands == {module: helps(app) for module, app in apps(catalogue.package).items()}


def test_a_command_is_loaded_with_its_options_when_it_is_named() -> None:
    group = get_command(make_app())

    name, command, rest = group.resolve_command(typer.Context(group), ["land", "orders"])  # type: ignore

    assert (name, rest) == ("land", ["orders"])
    assert "--max-records" in {option for p in command.params for option in p.opts}


@pytest.mark.parametrize(
    ("module", "arguments"), [("views.tables", ["tables"]), ("work.land", ["land", "--all", "--no-sync"])]
)
def test_what_finds_nothing_to_do_imports_no_client_of_a_server_that_it_does_not_ask(
    module: str, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_HOME", str(tmp_path))
    monkeypatch.setenv("FRAZIL_PIPELINES", str(tmp_path))

    names = imported(*arguments)

    assert NOT_ASKED & names == set()
    assert f"frazil.cli.{module}" in names


def test_help_imports_no_command_and_no_heavy_library() -> None:
    names = imported("--help")

    assert HEAVY & names == set()
    commands = {f"{each.package}.{module}" for each in CATALOGUES.values() for module in each.commands}
    assert commands & names == set()
