"""What the judge adds to MiniStack, and the faults of the stand-in."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
import requests
from botocore.exceptions import ClientError

from kit.clouds.cloud_aws import ACCOUNT, CloudAws, allow, cloud_aws, code_of, policy, trust
from kit.runs.waiting import wait_for

ROOT = f"arn:aws:iam::{ACCOUNT}:root"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/r"


@pytest.fixture
def user(aws: CloudAws) -> CloudAws:
    """One who may take every role that trusts the account."""
    return aws.user("u", allow("sts:AssumeRole"))


def may_take(user: CloudAws) -> bool:
    try:
        return bool(user.role(ROLE))
    except ClientError as e:
        return code_of(e) != "AccessDenied"


def test_a_new_role_and_a_new_trust_are_known_late(aws: CloudAws, user: CloudAws) -> None:
    aws.turn(propagation=1.0)
    iam = aws.client("iam")

    iam.create_role(RoleName="r", AssumeRolePolicyDocument=policy(trust(ROOT)))
    assert not may_take(user)
    wait_for(lambda: may_take(user))

    iam.update_assume_role_policy(RoleName="r", PolicyDocument=policy(trust(ROOT), trust(ROLE)))
    assert not may_take(user)
    wait_for(lambda: may_take(user))


@pytest.mark.parametrize("kind", ["user", "role"])
def test_who_is_deleted_leaves_an_id_in_the_trusts(aws: CloudAws, kind: str) -> None:
    iam, named = aws.client("iam"), trust(f"arn:aws:iam::{ACCOUNT}:{kind}/gone")
    if kind == "user":
        identity = iam.create_user(UserName="gone")["User"]["UserId"]
    else:
        made = iam.create_role(RoleName="gone", AssumeRolePolicyDocument=policy(trust(ROOT)))
        identity = made["Role"]["RoleId"]
    iam.create_role(RoleName="r", AssumeRolePolicyDocument=policy(named))

    iam.delete_user(UserName="gone") if kind == "user" else iam.delete_role(RoleName="gone")

    document = iam.get_role(RoleName="r")["Role"]["AssumeRolePolicyDocument"]
    assert document["Statement"][0]["Principal"] == {"AWS": identity}
    assert identity.startswith(("AIDA", "AROA"))


def test_an_account_may_be_named_by_its_number(aws: CloudAws, user: CloudAws) -> None:
    document = policy({"Effect": "Allow", "Principal": {"AWS": ACCOUNT}, "Action": "sts:AssumeRole"})

    aws.client("iam").create_role(RoleName="r", AssumeRolePolicyDocument=document)

    assert may_take(user)


def test_parameters_are_judged_by_their_path(aws: CloudAws) -> None:
    here = f"arn:aws:ssm:us-east-1:{ACCOUNT}:parameter/good"
    user = aws.user("u", allow("ssm:GetParametersByPath", [here, f"{here}/*"]))

    assert user.client("ssm").get_parameters_by_path(Path="/good/inner")["Parameters"] == []
    with pytest.raises(ClientError, match="AccessDenied"):
        user.client("ssm").get_parameters_by_path(Path="/bad")


def test_loopback_stands_for_tls_unless_a_knob_says_otherwise(aws: CloudAws) -> None:
    user = aws.user("u", allow("s3:*", "*", Condition={"Bool": {"aws:SecureTransport": "true"}}))
    assert "Buckets" in user.client("s3").list_buckets()

    aws.turn(more={"plain": True})

    with pytest.raises(ClientError, match="AccessDenied"):
        user.client("s3").list_buckets()


def test_one_of_so_many_calls_meets_its_fault_and_one_call_may_be_named(aws: CloudAws) -> None:
    aws.turn(fail_every=2, once={"CreateUser": "throttle"})
    answers = []
    for _ in range(20):
        try:
            answers.append(aws.client("iam").list_users()["Users"])
        except ClientError as e:
            answers.append(code_of(e))
    assert abs(answers.count("InternalFailure") - 10) <= 1
    assert answers.count([]) == 20 - answers.count("InternalFailure")

    aws.turn(once={"CreateUser": "throttle"})
    with pytest.raises(ClientError, match="Throttling"):
        aws.client("iam").create_user(UserName="u")
    aws.client("iam").create_user(UserName="u")


def test_its_knobs_say_how_they_stand(aws: CloudAws) -> None:
    aws.turn(propagation=2.5)

    knobs = requests.get(f"{aws.url}/_knobs", timeout=60).json()

    assert (knobs["propagation"], knobs["lose_every"]) == (2.5, 0)


def test_it_listens_on_loopback_only_and_at_one_port(tmp_path: Path) -> None:
    with cloud_aws(tmp_path) as aws:
        aws.client("iam").list_users()
        port = aws.url.rpartition(":")[2]
        mine = (p for p in psutil.Process().children() if p.environ().get("FRAZIL_CLOUD_AWS_PORT") == port)
        heard = [tuple(c.laddr) for c in next(mine).net_connections() if c.status == psutil.CONN_LISTEN]

    assert heard == [("127.0.0.1", int(port))]


def test_a_stack_s_stand_in_remembers_what_it_was_told(tmp_path: Path) -> None:
    for folder in ("one", "two", "state"):
        (tmp_path / folder).mkdir()
    state = {"FRAZIL_CLOUD_AWS_STATE": str(tmp_path / "state")}
    with cloud_aws(tmp_path / "one", **state) as aws:
        user = aws.user("u", allow("*"))
        user.client("s3").create_bucket(Bucket="lake")
        user.client("s3").put_object(Bucket="lake", Key="a/b", Body=b"x")
        user.client("secretsmanager").create_secret(Name="/s", SecretString="1")
        user.client("glue").create_database(DatabaseInput={"Name": "d"})

    with cloud_aws(tmp_path / "two", **state) as again:
        same = CloudAws(again.url, user.key, user.secret)
        assert same.client("s3").get_object(Bucket="lake", Key="a/b")["Body"].read() == b"x"
        assert same.client("secretsmanager").get_secret_value(SecretId="/s")["SecretString"] == "1"
        assert same.client("glue").get_database(Name="d")["Database"]["Name"] == "d"
