"""Deployments are read from YAML; each mistake is told with file, line and the nearest name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from frazil.errors import FrazilError, SpecError, UsageError
from frazil.settings.profile import Settings
from frazil_cloud.spec.deployment import DeploymentSpec
from frazil_cloud.spec.folders import Deployments, load_deployments

GOOD = """type: assets.deployments.Deployment
attributes:
  name: shop
  pipelines: [trading]
  aws:
    bucket: shop-bucket
"""


def written(folder: Path, **texts: str) -> Deployments:
    for name, text in texts.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "defs.yaml").write_text(text)
    return load_deployments(Settings(deployments=str(folder)), ["trading", "shipping"])


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(FrazilError) as refused:
        written(folder, one=text).all()
    return str(refused.value).replace(f"{folder}{os.sep}", "")


def test_a_file_is_a_deployment(tmp_path: Path) -> None:
    (deployment,) = written(tmp_path, shop=GOOD).all()

    assert (deployment.spec.name, deployment.line) == ("shop", 2)
    assert deployment.file == tmp_path / "shop" / "defs.yaml"


def test_a_misspelt_name_is_told_with_its_line_and_the_nearest(tmp_path: Path) -> None:
    message = refusal(tmp_path, GOOD + "  confluent:\n    topic: []\n")

    assert "one/defs.yaml:8: confluent.topic: unknown name; did you mean 'topics'?" in message


def test_every_mistake_of_a_file_is_told_at_once(tmp_path: Path) -> None:
    message = refusal(tmp_path, GOOD.replace("shop-bucket", "Shop!") + "  region: europe\n")

    assert "one/defs.yaml:6: aws.bucket:" in message
    assert "one/defs.yaml:7: region:" in message


def test_a_pipeline_that_there_is_not_is_told_with_the_nearest(tmp_path: Path) -> None:
    message = refusal(tmp_path, GOOD.replace("trading", "tradings"))

    assert (
        "one/defs.yaml:4: pipelines[0]: there is no pipeline 'tradings'; did you mean 'trading'?" in message
    )


def test_a_component_that_is_nearly_one_is_told(tmp_path: Path) -> None:
    message = refusal(tmp_path, GOOD.replace(".Deployment", ".Deployments"))

    assert "is unknown; did you mean assets.deployments.Deployment?" in message


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    deployments = written(tmp_path, a=GOOD, b=GOOD)

    assert [each.folder.name for each in deployments.sound] == ["a"]
    assert "there is another deployment shop" in str(deployments.broken[0].error)


def test_one_that_is_broken_does_not_end_the_others(tmp_path: Path) -> None:
    deployments = written(tmp_path, a="[", b=GOOD)

    assert deployments.named("shop").spec.name == "shop"
    with pytest.raises(SpecError, match="this is no YAML"):
        deployments.named("a")


def test_without_a_name_it_is_the_only_one(tmp_path: Path) -> None:
    assert written(tmp_path, a=GOOD).named().spec.name == "shop"


def test_a_name_that_there_is_not_is_told_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean shop"):
        written(tmp_path, a=GOOD).named("shops")


def test_of_several_one_must_be_named(tmp_path: Path) -> None:
    two = written(tmp_path, a=GOOD, b=GOOD.replace("name: shop", "name: sale"))

    with pytest.raises(UsageError, match="Known are shop, sale"):
        two.named()


def test_the_one_that_comes_with_frazil_has_the_names_of_the_kickstarter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TABLEFLOW_BUCKET", "tableflow-kickstarter-1")

    (deployment,) = load_deployments(Settings(), ["trading"]).all()

    names = deployment.spec.names
    assert names.account("app_manager") == "tableflow_app_manager"
    assert names.writer_role == "tableflow_s3_glue_role"
    assert names.reader_role == "snowflake_s3_glue_role"
    assert names.secret("flink") == "/confluent_cloud_resource/tableflow_kickstarter/flink"


def test_its_bucket_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TABLEFLOW_BUCKET", raising=False)

    with pytest.raises(SpecError, match="the environment has no TABLEFLOW_BUCKET"):
        load_deployments(Settings(), ["trading"]).all()


@pytest.mark.parametrize("name", ["lab.lake", "Lab-lake", "lab_lake", "la", "-lake", "lake-", "x" * 64])
def test_a_bucket_whose_name_aws_or_snowflake_does_not_take_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=r"aws\.bucket"):
        DeploymentSpec.model_validate({"name": "lab", "aws": {"bucket": name}})
