"""A team's own assets find S3, secrets and parameters by the identity of the settings; logs go to S3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import dagster as dg
import pytest
import yaml
from dagster_aws.s3 import S3Resource
from dagster_aws.secretsmanager import SecretsManagerResource
from dagster_aws.ssm import SSMResource

import frazil
from frazil.settings.profile import Settings
from kit.wires.lying import glue_in_process
from resources.aws import aws_resources

PRODUCTION = Path(frazil.__file__).parents[2] / "docs" / "deploy" / "dagster.yaml"
KEYS = {"access_key": "AKIDPLANTED", "secret_key": "planted-secret"}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Moto, with all of AWS that these need."""
    with glue_in_process(tmp_path_factory.mktemp("aws")) as address:
        yield address


@pytest.fixture(autouse=True)
def aws(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def client(service: str) -> Any:
    names = {"aws_access_key_id": KEYS["access_key"], "aws_secret_access_key": KEYS["secret_key"]}
    return boto3.client(service, region_name="us-east-1", **names)


@pytest.mark.parametrize("role", [None, "arn:aws:iam::123456789012:role/frazil"])
def test_an_asset_of_a_team_reads_s3_secrets_and_parameters(role: str | None, fresh_name: str) -> None:
    client("s3").create_bucket(Bucket=fresh_name)
    client("secretsmanager").create_secret(Name=fresh_name, SecretString="kept")
    client("ssm").put_parameter(Name=f"/{fresh_name}", Value="told", Type="String")
    seen: dict[str, Any] = {}

    @dg.asset
    def own(
        frazil_s3: dg.ResourceParam[S3Resource],
        frazil_secretsmanager: dg.ResourceParam[SecretsManagerResource],
        frazil_ssm: dg.ResourceParam[SSMResource],
    ) -> None:
        s3 = frazil_s3.get_client()
        seen["buckets"] = [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]
        seen["key"] = s3._request_signer._credentials.access_key
        secrets = frazil_secretsmanager.get_client()
        seen["secret"] = secrets.get_secret_value(SecretId=fresh_name)["SecretString"]
        seen["told"] = frazil_ssm.get_client().get_parameter(Name=f"/{fresh_name}")["Parameter"]["Value"]

    settings = Settings.load(aws={**KEYS, "role_arn": role})
    assert dg.materialize([own], resources=aws_resources(settings)).success

    assert fresh_name in seen["buckets"]
    assert (seen["secret"], seen["told"]) == ("kept", "told")
    assert (seen["key"] == KEYS["access_key"]) is (role is None)


def test_the_production_instance_keeps_what_runs_print_in_s3(
    address: str, tmp_path: Path, fresh_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, key in {"ID": "access_key", "SECRET": "secret_key"}.items():
        monkeypatch.setenv("AWS_ACCESS_KEY_ID" if name == "ID" else "AWS_SECRET_ACCESS_KEY", KEYS[key])
    monkeypatch.setenv("DAGSTER_LOGS_BUCKET", fresh_name)
    client("s3").create_bucket(Bucket=fresh_name)
    document = yaml.safe_load(PRODUCTION.read_text())
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump({"compute_logs": document["compute_logs"]}))

    @dg.asset
    def talkative() -> None:
        print("landed 7 records")

    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert dg.materialize([talkative], instance=instance).success

    objects = client("s3").list_objects_v2(Bucket=fresh_name)["Contents"]
    texts = [client("s3").get_object(Bucket=fresh_name, Key=o["Key"])["Body"].read() for o in objects]
    assert any(b"landed 7 records" in text for text in texts)
