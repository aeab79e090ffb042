"""The workflows of GitHub Actions take what the command takes, and let no secret into a command line."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from frazil.cli.main import make_app
from frazil.settings.profile import fields, variable
from kit.runs.waiting import PATIENCE

FOLDER = Path(__file__).parents[2] / ".github"
DEPLOY, UNDEPLOY = (FOLDER / "workflows" / f"{name}.yml" for name in ("deploy", "undeploy"))

OF_PEOPLE = {
    "--profile", "--plan", "--yes", "--debug", "--json", "--out", "--patience", "--remove-data", "--only",
    "--adopt",
}  # fmt: skip
"""Options that workflows leave alone: OIDC replaces a profile of AWS, and the rest has defaults."""

AS_VARIABLES = {"--confluent-api-key", "--confluent-api-secret"}
OF_GITHUB = {"environment", "region", "deployment"}


def read(file: Path) -> dict[str, Any]:
    """YAML 1.1 reads the key `on` as true."""
    document: dict[Any, Any] = yaml.safe_load(file.read_text())
    return {("on" if key is True else key): value for key, value in document.items()}


def inputs(file: Path) -> dict[str, Any]:
    inputs_given: dict[str, Any] = read(file)["on"]["workflow_dispatch"]["inputs"]
    return inputs_given


def options() -> set[str]:
    command = get_command(make_app()).commands["deploy"].load()  # type: ignore[attr-defined]
    return {name for option in command.params for name in option.opts if name.startswith("--")} - {"--help"}


def runs(file: Path) -> Iterator[str]:
    document = read(file)
    steps = [step for job in document.get("jobs", {}).values() for step in job["steps"]]
    steps += document.get("runs", {}).get("steps", [])
    yield from (step["run"] for step in steps if "run" in step)


def test_the_inputs_are_the_options_of_the_command() -> None:
    asked = {f"--{name.replace('_', '-')}" for name in inputs(DEPLOY).keys() - OF_GITHUB}

    assert asked == options() - OF_PEOPLE - AS_VARIABLES


def test_every_option_that_is_used_is_one_and_every_input_reaches_it() -> None:
    text = "\n".join(runs(DEPLOY))

    assert set(re.findall(r"--[a-z-]+", text)) <= options()
    environment = read(DEPLOY)["env"]
    taken = {name for value in environment.values() for name in re.findall(r"inputs\.(\w+)", value)}
    assert taken == inputs(DEPLOY).keys() - {"environment", "region"}
    assert [
        name for name in environment if name.isupper() and f"${name}" not in text and "FRAZIL" not in name
    ] == ["TABLEFLOW_BUCKET"], "the deployment's file reads it"


@pytest.mark.parametrize("file", [DEPLOY, UNDEPLOY], ids=lambda file: file.stem)
def test_each_variable_of_frazil_is_a_setting(file: Path) -> None:
    """D11: the workflow set a variable that nothing reads."""
    known = {variable(path) for path, _ in fields()}

    assert {name for name in read(file)["env"] if name.startswith("FRAZIL_")} == {
        "FRAZIL_CONFLUENT__API_KEY",
        "FRAZIL_CONFLUENT__API_SECRET",
    }
    assert {name for name in read(file)["env"] if name.startswith("FRAZIL_")} <= known


@pytest.mark.parametrize("file", [*FOLDER.glob("workflows/*.yml")], ids=lambda file: file.stem)
def test_a_workflow_runs_targets_that_are_there_within_a_limit_and_with_no_more_rights_than_it_says(
    file: Path,
) -> None:
    document = read(file)
    targets = set(re.findall(r"^([a-z./-]+):", (FOLDER.parent / "Makefile").read_text(), re.MULTILINE))
    asked = {name for text in runs(file) for names in _MAKE.findall(text) for name in names.split()}
    asked |= {name for job in document["jobs"].values() for name in _matrix(job).get("target", ())}

    assert asked <= targets | {".venv/.ready"}
    assert set(document["permissions"]) <= {"contents", "id-token"}
    assert all(job["timeout-minutes"] <= 240 for job in document["jobs"].values())


_MAKE = re.compile(r"\bmake ((?:[a-z./-]+ ?)+)")


def _matrix(job: dict[str, Any]) -> dict[str, list[str]]:
    matrix: dict[str, list[str]] = job.get("strategy", {}).get("matrix", {})
    return matrix


def test_ci_tries_each_python_that_the_makefile_takes() -> None:
    (line,) = (text for text in (FOLDER.parent / "Makefile").read_text().splitlines() if "PYTHON ?=" in text)
    tried = _matrix(read(FOLDER / "workflows" / "ci.yml")["jobs"]["unit"])["python"]

    assert [f"python{version}" for version in tried] == re.findall(r"python3\.\d+", line)


def test_the_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    changelog = "# Log\n\n## [Unreleased]\n\n## [1.0.1] - 2026-12-01\n\n- Less.\n\n## [1.0.0]\n\n- All.\n"

    assert release_notes().notes(changelog, "1.0.1") == "- Less."
    assert release_notes().notes(changelog, "1.0.0") == "- All."
    for version in ("1.0", "2.0.0", "Unreleased"):
        with pytest.raises(LookupError):
            release_notes().notes(changelog, version)


def test_a_release_brings_the_list_of_packages_and_where_the_wheel_was_built() -> None:
    release = FOLDER / "workflows" / "release.yml"
    used = [step.get("uses", "") for step in read(release)["jobs"]["publish"]["steps"]]

    assert "make wheel docs sbom audit" in [*runs(release)]
    assert any(action.startswith("actions/attest-build-provenance@") for action in used)


@pytest.mark.nightly
def test_the_list_of_packages_has_each_line_of_the_lock_with_its_hashes() -> None:
    root = FOLDER.parent
    subprocess.run(["make", "sbom"], cwd=root, check=True, timeout=PATIENCE)
    components = json.loads((root / "sbom.json").read_text())["components"]
    listed = {f"{c['name']}=={c['version']}": c["externalReferences"][0]["hashes"] for c in components}
    locked = re.findall(r"^([\w.-]+==\S+)", (root / "requirements.lock").read_text(), re.MULTILINE)

    assert sorted(listed) == sorted(locked)
    assert all(listed.values())


def test_a_tag_that_is_not_the_packages_version_is_refused() -> None:
    with pytest.raises(LookupError, match=r"v0\.0\.0"):
        release_notes().release("v0.0.0")


def release_notes() -> Any:
    """The script, which is of no package."""
    spec = spec_from_file_location("release_notes", FOLDER / "release_notes.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("file", [*FOLDER.rglob("*.yml")], ids=lambda file: file.stem)
def test_no_secret_and_no_input_stands_in_a_command_line(file: Path) -> None:
    """What GitHub fills in is text of others: in a script it would be run."""
    assert [line for line in runs(file) if "${{" in line] == []


@pytest.mark.parametrize("file", [DEPLOY, UNDEPLOY], ids=lambda file: file.stem)
def test_three_environments_take_a_role_by_oidc(file: Path) -> None:
    document = read(file)

    assert inputs(file)["environment"]["options"] == ["dev", "test", "prod"]
    assert len(inputs(file)["region"]["options"]) == 4
    assert document["permissions"] == {"contents": "read", "id-token": "write"}
    assert {job["environment"] for job in document["jobs"].values()} == {"${{ inputs.environment }}"}
    assert "GitHubActionsRole" in (FOLDER / "actions" / "frazil" / "action.yml").read_text()


def test_both_take_the_same_inputs_but_for_numbers_that_only_making_needs() -> None:
    making = {"day_count", "auto_offset_reset", "number_of_api_keys_to_retain", "snowflake_warehouse"}

    assert inputs(UNDEPLOY) == {name: value for name, value in inputs(DEPLOY).items() if name not in making}
