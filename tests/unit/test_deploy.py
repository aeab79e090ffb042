"""The files of docs/deploy fit what they are for: Dagster's chart, the settings, this checkout, and Spark."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from frazil.settings.profile import fields, variable
from frazil.tables.spark.redaction import OF_SERVER
from frazil_local.servers.spark import CONSUMERS
from kit.pages.requirements import ROOT

FOLDER = ROOT / "docs" / "deploy"

CHART = {
    "": "dagster-user-deployments runLauncher computeLogManager telemetry",
    "dagster-user-deployments": "enabled enableSubchart imagePullSecrets deployments",
    "dagster-user-deployments.deployments": (
        "name image port dagsterApiGrpcArgs codeServerArgs includeConfigInLaunchedRuns env envConfigMaps "
        "envSecrets annotations nodeSelector affinity tolerations podSecurityContext securityContext "
        "resources livenessProbe readinessProbe startupProbe labels volumeMounts volumes schedulerName"
    ),
    "dagster-user-deployments.deployments.image": "repository tag pullPolicy",
    "dagster-user-deployments.deployments.env": "name value valueFrom",
    "runLauncher": "type config",
    "runLauncher.config": "celeryK8sRunLauncher k8sRunLauncher customRunLauncher",
    "runLauncher.config.k8sRunLauncher": (
        "image imagePullPolicy jobNamespace loadInclusterConfig kubeconfigFile envConfigMaps envSecrets "
        "envVars volumeMounts volumes labels failPodOnRunFailure"
    ),
    "computeLogManager": "type config",
    "computeLogManager.config.s3ComputeLogManager": (
        "localDir prefix useSsl verify verifyCertPath endpointUrl skipEmptyFiles uploadInterval "
        "uploadExtraArgs showUrlOnly region bucket"
    ),
    "telemetry": "enabled",
}
"""Fields by path, as the chart's schema has them: helm/dagster/schema in Dagster's repository."""

INSTRUCTIONS = {"FROM", "WORKDIR", "RUN", "COPY", "ENV", "USER", "EXPOSE", "CMD", "SHELL", "ARG"}


@pytest.fixture(scope="module")
def values() -> Any:
    return yaml.safe_load((FOLDER / "values.yaml").read_text())


@pytest.fixture(scope="module")
def deployment(values: Any) -> Any:
    (only,) = values["dagster-user-deployments"]["deployments"]
    return only


@pytest.fixture(scope="module")
def instructions() -> list[str]:
    """Each instruction of the Dockerfile in one line."""
    text = (FOLDER / "Dockerfile").read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def named(tree: Any, path: str) -> set[str]:
    """The fields at a path of a tree, of all items where there is a list."""
    trees = [tree]
    for name in filter(None, path.split(".")):
        trees = [part for each in trees for part in listed(each[name])]
    return {name for each in trees for name in each}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("path", CHART)
def test_the_chart_knows_each_value(values: Any, path: str) -> None:
    assert named(values, path) <= set(CHART[path].split())


def test_each_variable_of_the_code_location_is_a_setting(deployment: Any) -> None:
    names = {each["name"] for each in deployment["env"]}

    assert names <= {variable(path) for path, _ in fields()}
    assert all(isinstance(each["value"], str) for each in deployment["env"])
    assert not [each for each in deployment["env"] if "TOKEN" in each["name"] and "env:" not in each["value"]]


def test_image_and_chart_agree_on_module_and_port(deployment: Any, instructions: list[str]) -> None:
    assert deployment["dagsterApiGrpcArgs"][:2] == ["--module-name", "frazil.definitions"]
    assert f"EXPOSE {deployment['port']}" in instructions


def test_the_dockerfile_has_known_instructions_and_copies_what_is_there(instructions: list[str]) -> None:
    own = [line for line in instructions if line.startswith("COPY ") and "--from" not in line]
    stages = re.findall(r"AS (\w+)", "\n".join(instructions))

    assert {line.split()[0] for line in instructions} <= INSTRUCTIONS
    assert [path for line in own for path in line.split()[1:-1] if not (ROOT / path).exists()] == []
    assert {line.split("=")[1].split()[0] for line in instructions if "--from=" in line} <= set(stages)
    assert stages == ["wheel", "engine", "dagster", "spark"]


def test_every_jar_of_spark_has_coordinates_that_the_dockerfile_can_split() -> None:
    jars = [
        line.split() for line in (ROOT / "jars.lock").read_text().splitlines() if line.startswith("spark ")
    ]

    assert jars
    assert [jar for jar in jars if jar[1].count(":") != 2 or len(jar[2]) != 64] == []


def test_sparks_defaults_are_those_of_the_embedded_stack() -> None:
    lines = (FOLDER / "spark-defaults.conf").read_text().splitlines()
    options_by_name = dict(line.split(" ", 1) for line in lines if not line.startswith("#"))

    assert CONSUMERS.items() | OF_SERVER.items() <= options_by_name.items()
    for name in ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"):
        options = options_by_name[name].split()
        assert "-XX:-DontCompileHugeMethods" in options


def test_the_workspace_keeps_both_projects_apart() -> None:
    workspace = yaml.safe_load((FOLDER / "workspace.yaml").read_text())
    locations = [each["python_module"] for each in workspace["load_from"]]

    for name in ("working_directory", "executable_path"):
        assert len({each[name] for each in locations}) == len(locations)
    assert [Path(each["executable_path"]).name for each in locations] == ["python", "python"]


def test_the_compose_file_runs_the_checkout_by_make_on_the_network_of_its_host() -> None:
    """No container was started here."""
    document = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    service = document["services"]["frazil"]
    places = dict(volume.split(":") for volume in service["volumes"])

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    name, _, version = service["image"].partition(":")
    assert name == "python"
    assert version in SpecifierSet(project["requires-python"])
    assert f"\n{service['command'].removeprefix('make ')}:" in (ROOT / "Makefile").read_text()
    assert (FOLDER / "../..").resolve() == ROOT
    assert places["../.."] == service["working_dir"]
    assert {name for name in places if name != "../.."} == set(document["volumes"])
    assert service["network_mode"] == "host"


def test_the_devcontainer_makes_the_environment_that_make_makes_with_a_python_that_frazil_takes() -> None:
    """No container was started here."""
    document = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    name, _, version = document["image"].partition(":")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert name == "python"
    assert version in SpecifierSet(project["requires-python"])
    assert document["postCreateCommand"] == "make .venv/.ready"
    assert document["remoteEnv"]["PATH"].startswith("${containerWorkspaceFolder}/.venv/bin:")
