"""A deployment from its plan to nothing, by the command alone, in three clouds that judge each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from frazil.publishing.snowflake.connection import open_snowflake, rows
from frazil.settings.profile import Settings
from frazil.tables.catalog import open_catalog
from kit.cloud_aws import allow
from kit.shell import Command, Said
from kit.three_clouds import LAB, ThreeClouds, three_clouds, write_deployment

ROWS = pa.table({"symbol": ["ZTEST", "ZVV"], "price": [5, 7]})

Frazil = Callable[..., Said]


@pytest.fixture(scope="module")
def clouds(nobody_at_home: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeClouds]:
    with three_clouds(tmp_path_factory.mktemp("clouds")) as clouds:
        yield clouds


@pytest.fixture
def frazil(
    clouds: ThreeClouds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Frazil:
    """The command of who administers the clouds, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAZIL_DEPLOYMENTS", str(write_deployment(tmp_path, LAB)))
    for name, value in clouds.administrator.items():
        monkeypatch.setenv(name, value)
    return Command(monkeypatch, capsys)


def done(said: Said) -> Said:
    assert said.code == 0, said.err
    return said


def test_a_deployment_is_made_proved_healed_and_removed(clouds: ThreeClouds, frazil: Frazil) -> None:
    before = clouds.everything()
    planned = done(frazil("deploy", "plan", "--json")).document
    assert {step["action"] for step in planned["steps"]} == {"create"}

    done(frazil("deploy", "create", "--plan", planned["digest"], "--debug"))
    assert done(frazil("deploy", "plan", "--json")).document["steps"] == []
    assert set(done(frazil("deploy", "verify", "--json")).document.values()) == {None}
    assert len(clouds.everything()) > len(before) + 40
    log, secrets = Path("frazil-deploy-debug.log").read_text(), clouds.secrets()
    assert "confluent/key/app_consumer: ready" in log
    assert len(secrets) > 6
    assert [secret for secret in secrets if secret in log] == []

    work_in_it(clouds, done(frazil("env", "--deployment", "lab", "--json")).document)

    tamper(clouds)
    drifted = frazil("deploy", "drift", "--json")
    assert drifted.code == 3
    addresses = {step["address"] for step in drifted.document["steps"]}
    assert {"aws/writer_role", "confluent/topic/stock_trades", "snowflake/grants/system"} <= addresses
    done(frazil("deploy", "create", "--yes"))
    done(frazil("deploy", "drift"))
    done(frazil("deploy", "verify"))

    done(frazil("deploy", "delete", "--yes"))
    assert "Nothing is left of it." in done(frazil("deploy", "delete", "--yes")).err
    assert clouds.everything() == before


def work_in_it(clouds: ThreeClouds, told: dict[str, Any]) -> None:
    """As somebody with two rights and no more: to take the writer's role, and to read the secrets."""
    secrets = "arn:aws:secretsmanager:us-east-1:*:secret:/*"
    rights = allow("sts:AssumeRole", told["aws"]["role_arn"]), allow("secretsmanager:GetSecretValue", secrets)
    runner = clouds.aws.user("runner", *rights)
    told["aws"] |= {"access_key": runner.key, "secret_key": runner.secret}
    settings = Settings.load(**told)

    table = open_catalog(settings).create_table("lab.proof", ROWS.schema)
    table.append(ROWS)
    assert table.location().startswith("s3://lab-bucket-4711/warehouse/")
    assert table.scan().to_arrow().num_rows == ROWS.num_rows
    with open_snowflake(settings) as connection:
        seen = rows(connection, "SHOW WAREHOUSES")  # those that the role may use
    assert settings.snowflake.user == "LAB_USER"
    assert "LAB_WAREHOUSE" in seen[0]
    password = settings.kafka.password
    assert password
    assert password.get_secret_value() in clouds.secrets()


def tamper(clouds: ThreeClouds) -> None:
    """What others do by hand: a right less, a topic gone, a grant revoked."""
    role, policy = "lab_s3_glue_role", "lab_s3_glue_access_policy"
    iam = clouds.aws.client("iam")
    if policy in iam.list_role_policies(RoleName=role)["PolicyNames"]:
        iam.delete_role_policy(RoleName=role, PolicyName=policy)
    for attached in iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
        iam.detach_role_policy(RoleName=role, PolicyArn=attached["PolicyArn"])
    (topics,) = (path for path in clouds.confluent.organization.held if path.endswith("/topics"))
    clouds.confluent.organization.held[topics].pop("stock_trades")
    clouds.snowflake.as_(
        "SECURITYADMIN", "REVOKE USAGE ON WAREHOUSE LAB_WAREHOUSE FROM ROLE LAB_SYSTEM_ADMIN_ROLE"
    )
