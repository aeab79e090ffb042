"""What AWS answers is told in the words of the reconciler."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError
from pydantic import SecretStr

from frazil.errors import ConfigureError, NotAllowedError
from frazil.settings.identity import aws_session
from frazil.settings.refusals import aws_refusal
from frazil.settings.systems.aws import AwsSettings
from frazil_cloud.aws.client import Aws, GoneError, ThereError
from frazil_cloud.resource import AnswerLost, NotYet, RefusedYet, Throttled
from kit.clouds.cloud_aws import ACCOUNT, CloudAws, allow, policy, trust

ROLE = f"arn:aws:iam::{ACCOUNT}:role/writer"


def test_the_account_is_that_of_the_identity(aws: CloudAws) -> None:
    assert Aws(aws.settings).account == ACCOUNT


def test_what_is_not_there_is_gone_in_every_service(aws: CloudAws) -> None:
    us = Aws(aws.settings)
    asks = (
        lambda: us.client("iam").get_role(RoleName="none"),
        lambda: us.client("s3").get_bucket_policy(Bucket="none"),
        lambda: us.client("glue").get_database(Name="none"),
        lambda: us.client("ssm").get_parameter(Name="none"),
        lambda: us.client("secretsmanager").get_secret_value(SecretId="none"),
        lambda: list(us.client("s3").pages("list_objects_v2", Bucket="none")),
    )
    for ask in asks:
        with pytest.raises(GoneError):
            ask()


def test_what_is_there_already_is_said_so(aws: CloudAws) -> None:
    iam = Aws(aws.settings).client("iam")
    iam.create_role(RoleName="r", AssumeRolePolicyDocument=policy(trust("glue.amazonaws.com")))

    with pytest.raises(ThereError):
        iam.create_role(RoleName="r", AssumeRolePolicyDocument=policy(trust("glue.amazonaws.com")))


@pytest.mark.each_time("s3", "iam")  # pages of ssm are below
@pytest.mark.parametrize("service", ["s3", "iam", "ssm"])
def test_too_many_calls_are_asked_to_come_later(aws: CloudAws, service: str) -> None:
    us = Aws(aws.settings)
    aws.turn(throttle_every=1)

    with pytest.raises(Throttled, match="Rate exceeded"):
        _any_call(us, service)


@pytest.mark.each_time("fail-iam")  # one that is lost, and one that is dropped, are below
@pytest.mark.parametrize("service", ["s3", "iam", "ssm"])
@pytest.mark.parametrize("fault", ["fail", "lose", "drop"])
def test_an_answer_that_does_not_come_leaves_it_open_what_was_done(
    aws: CloudAws, service: str, fault: str
) -> None:
    us = Aws(aws.settings)
    aws.turn(**{f"{fault}_every": 1})

    with pytest.raises(AnswerLost):
        _any_call(us, service)


def test_a_lost_answer_was_done_and_sent_once(aws: CloudAws) -> None:
    us = Aws(aws.settings)
    aws.turn(once={"CreateUser": "lose"})

    with pytest.raises(AnswerLost):
        us.client("iam").create_user(UserName="u")

    assert us.client("iam").get_user(UserName="u")["User"]["UserName"] == "u"


def test_a_dropped_call_was_not_done(aws: CloudAws) -> None:
    us = Aws(aws.settings)
    aws.turn(once={"CreateUser": "drop"})

    with pytest.raises(AnswerLost):
        us.client("iam").create_user(UserName="u")
    with pytest.raises(GoneError):
        us.client("iam").get_user(UserName="u")


def test_nobody_listening_is_no_answer() -> None:
    nobody = AwsSettings.model_validate(
        {"endpoint": "http://127.0.0.1:9", "access_key": "a", "secret_key": "b"}
    )

    with pytest.raises(AnswerLost):
        Aws(nobody).client("iam").list_users()


def test_a_trust_in_somebody_who_is_not_seen_yet_may_be_tried_again(aws: CloudAws) -> None:
    document = policy(trust(f"arn:aws:iam::{ACCOUNT}:user/late"))

    with pytest.raises(RefusedYet, match="Invalid principal"):
        Aws(aws.settings).client("iam").create_role(RoleName="r", AssumeRolePolicyDocument=document)


@pytest.mark.parametrize(
    ("ask", "statement"),
    [
        (
            lambda us: us.client("iam").create_role(RoleName="r", AssumeRolePolicyDocument="{}"),
            "iam:CreateRole",
        ),
        (lambda us: us.client("s3").create_bucket(Bucket="lake-of-nobody"), "s3:CreateBucket"),
        (lambda us: us.client("glue").get_database(Name="d"), "glue:GetDatabase"),
        (lambda us: us.client("ssm").get_parameter(Name="/p"), "ssm:GetParameter"),
        (
            lambda us: us.client("secretsmanager").get_secret_value(SecretId="/s"),
            "secretsmanager:GetSecretValue",
        ),
        (lambda us: us.client("logs").create_log_group(logGroupName="g"), "logs:CreateLogGroup"),
    ],
)
def test_a_missing_right_is_named_with_the_statement_that_gives_it(
    aws: CloudAws, ask: Callable[[Aws], object], statement: str
) -> None:
    nobody = Aws(aws.user("nobody", allow("sts:GetCallerIdentity")).settings)

    with pytest.raises(NotAllowedError) as refused:
        ask(nobody)

    assert f'"Action": "{statement}"' in refused.value.todo


def test_a_key_that_nobody_knows_is_a_mistake_of_the_settings(aws: CloudAws) -> None:
    stranger = Aws(CloudAws(aws.url, "AKIAXXXXXXXXXXXXXXXX", "none").settings)

    with pytest.raises(ConfigureError, match="AWS does not know who asks"):
        stranger.client("iam").list_users()


def test_no_key_stands_in_the_text_of_a_client(aws: CloudAws) -> None:
    us = Aws(CloudAws(aws.url, "test", "the-secret-of-somebody").settings)

    assert "the-secret-of-somebody" not in f"{us!r} {us.client('s3')!r}"


def test_a_role_is_taken_with_its_external_id(aws: CloudAws) -> None:
    root = f"arn:aws:iam::{ACCOUNT}:root"
    document = policy(trust(root, "right"))
    us = Aws(aws.user("us", allow(["sts:AssumeRole", "iam:CreateRole"])).settings)
    us.client("iam").create_role(RoleName="writer", AssumeRolePolicyDocument=document)

    asked = us.taking(ROLE, "right").client("sts").get_caller_identity()["Arn"]

    assert asked.startswith(f"arn:aws:sts::{ACCOUNT}:assumed-role/writer/")
    with pytest.raises(ConfigureError):
        us.taking(ROLE, "wrong")


@pytest.mark.parametrize("way", ["the setting", "the trust"])
def test_a_role_that_settings_name_is_taken_once_the_id_or_its_trust_is_mended(
    aws: CloudAws, way: str
) -> None:
    root, name = f"arn:aws:iam::{ACCOUNT}:root", f"pipelines_{way[-3:]}"
    iam = aws.client("iam")
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=policy(trust(root, "right")))
    us = aws.user(f"who_{way[-3:]}", allow(["sts:AssumeRole"])).settings
    as_role = us.model_copy(
        update={"role_arn": f"arn:aws:iam::{ACCOUNT}:role/{name}", "external_id": SecretStr("wrong")}
    )

    def asked(settings: AwsSettings) -> str:
        try:
            sts = aws_session(settings).create_client("sts", endpoint_url=aws.url, region_name="us-east-1")
            return str(sts.get_caller_identity()["Arn"])
        except ClientError as e:
            raise aws_refusal(e) or e from None

    with pytest.raises(ConfigureError) as refused:
        asked(as_role)
    assert "FRAZIL_AWS__ROLE_ARN and FRAZIL_AWS__EXTERNAL_ID, or the role's trust" in refused.value.todo

    if way == "the setting":
        as_role = as_role.model_copy(update={"external_id": SecretStr("right")})
    else:
        iam.update_assume_role_policy(RoleName=name, PolicyDocument=policy(trust(root, "wrong")))

    assert f"assumed-role/{name}/" in asked(as_role)


def test_all_pages_are_asked_for(aws: CloudAws) -> None:
    ssm = Aws(aws.settings).client("ssm")
    for number in range(17):
        ssm.put_parameter(Name=f"/p/{number}", Value="x", Type="String")

    pages = list(ssm.pages("get_parameters_by_path", Path="/p"))

    assert [len(page["Parameters"]) for page in pages] == [10, 7]


def _any_call(us: Aws, service: str) -> object:
    calls = {
        "s3": lambda: us.client("s3").list_buckets(),
        "iam": lambda: us.client("iam").list_users(),
        "ssm": lambda: us.client("ssm").describe_parameters(),
    }
    return calls[service]()


def test_everything_that_waiting_may_mend_is_not_yet() -> None:
    assert all(issubclass(each, NotYet) for each in (Throttled, AnswerLost, RefusedYet))


@pytest.mark.parametrize("fault", ["drop", "lose", "throttle"])
def test_pages_are_complete_also_where_one_of_them_is_lost(aws: CloudAws, fault: str) -> None:
    us = Aws(aws.settings)
    for number in range(17):
        us.client("ssm").put_parameter(Name=f"/p/{number}", Value="x", Type="String")
    aws.turn(**{f"{fault}_every": 3})

    pages = us.client("ssm").pages("get_parameters_by_path", Path="/p")

    assert sum(len(page["Parameters"]) for page in pages) == 17
