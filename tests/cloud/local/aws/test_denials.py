"""The stand-in says no where AWS does: 42 questions, so that an upgrade of a part can't make it lenient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from botocore.exceptions import ClientError

from kit.clouds.cloud_aws import ACCOUNT, CloudAws, allow, code_of, policy, trust

ARN = f"arn:aws:iam::{ACCOUNT}"
OK = "ok"
DENIED = "AccessDenied"
PARTIES = ("confluent", "snowvol", "snowcat", "stranger")

OBJECTS = allow(["s3:GetObject", "s3:PutObject"], "arn:aws:s3:::lake-a/warehouse/*")
LIST = allow("s3:ListBucket", "arn:aws:s3:::lake-a", Condition={"StringLike": {"s3:prefix": ["warehouse/*"]}})
GLUE = allow(
    ["glue:GetDatabase", "glue:GetTable", "glue:CreateTable"],
    [f"arn:aws:glue:us-east-1:{ACCOUNT}:{each}" for each in ("catalog", "database/good", "table/good/*")],
)
SECRETS = allow("secretsmanager:GetSecretValue", f"arn:aws:secretsmanager:us-east-1:{ACCOUNT}:secret:/good/*")
RIGHTS = policy(OBJECTS, LIST, GLUE, SECRETS)
TRUST = [
    trust(f"{ARN}:user/confluent", "ext-c"),
    trust(f"{ARN}:user/confluent", action="sts:TagSession"),
    trust(f"{ARN}:user/snowvol", "ext-v"),
    trust(f"{ARN}:user/snowcat", "ext-k"),
    trust("glue.amazonaws.com"),
]
TAGS = [{"Key": "a", "Value": "b"}]


@dataclass(frozen=True, eq=False)
class Scene:
    """An account with two roles that four parties know of, one of them without rights."""

    root: CloudAws
    parties: dict[str, CloudAws]

    def take(self, party: str, external_id: str | None = None, role: str = "writer", **more: Any) -> CloudAws:
        return self.parties[party].role(f"{ARN}:role/{role}", external_id, **more)

    def writer(self, service: str) -> Any:
        return _taken(self, "writer").client(service)

    def bare(self, service: str) -> Any:
        return _taken(self, "bare").client(service)


@cache
def _taken(scene: Scene, role: str) -> CloudAws:
    return scene.take("confluent", "ext-c", role)


@pytest.fixture(scope="module")
def scene(aws_process: CloudAws) -> Iterator[Scene]:
    may = allow(["sts:AssumeRole", "sts:TagSession"])
    scene = Scene(aws_process, {each: aws_process.user(each, may) for each in PARTIES})
    iam, s3, glue, secrets, ssm = map(aws_process.client, ("iam", "s3", "glue", "secretsmanager", "ssm"))
    for name in ("writer", "bare"):
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=policy(*TRUST))
    rights = iam.create_policy(PolicyName="rights", PolicyDocument=RIGHTS)["Policy"]["Arn"]
    iam.attach_role_policy(RoleName="writer", PolicyArn=rights)
    for bucket in ("lake-a", "lake-b"):
        s3.create_bucket(Bucket=bucket)
    for key in ("warehouse/t/x", "warehouse/y", "other/x"):
        s3.put_object(Bucket="lake-a", Key=key, Body=b"1")
    for name in ("good", "bad"):
        glue.create_database(DatabaseInput={"Name": name})
        secrets.create_secret(Name=f"/{name}/a", SecretString="1")
    glue.create_table(DatabaseName="good", TableInput={"Name": "there"})
    secrets.create_secret(Name="/doomed/a", SecretString="1")
    secrets.delete_secret(SecretId="/doomed/a")
    for number in range(17):
        ssm.put_parameter(Name=f"/good/p{number:02}", Value="x", Type="String")
    s3.put_bucket_tagging(Bucket="lake-b", Tagging={"TagSet": [{"Key": "frazil", "Value": "x"}]})
    yield scene
    aws_process.reset()


def stranger(key: str, secret: str) -> Callable[[Scene], Any]:
    return lambda s: CloudAws(s.root.url, key, secret).client("sts").get_caller_identity()


def asks(who: Callable[[Scene, str], Any]) -> Callable[..., Callable[[Scene], Any]]:
    """Makes questions of somebody: a service, a call of it, and what it is told."""

    def question(service: str, call: str, **options: Any) -> Callable[[Scene], Any]:
        return lambda scene: getattr(who(scene, service), call)(**options)

    return question


by_root = asks(lambda scene, service: scene.root.client(service))
by_writer = asks(Scene.writer)
by_bare = asks(Scene.bare)


def wrong_secret(s: Scene) -> Any:
    known = s.parties["confluent"]
    return CloudAws(known.url, known.key, "wrong").client("sts").get_caller_identity()


def role_trusting(arn: str) -> Callable[[Scene], Any]:
    return lambda s: s.root.client("iam").create_role(
        RoleName="r3", AssumeRolePolicyDocument=policy(trust(arn))
    )


def trusting_itself(s: Scene) -> Any:
    trusts = policy(*TRUST, trust(f"{ARN}:role/bare"))
    return s.root.client("iam").update_assume_role_policy(RoleName="bare", PolicyDocument=trusts)


def sixth_version(s: Scene) -> None:
    iam, arn = s.root.client("iam"), f"{ARN}:policy/rights"
    for _ in range(5):
        iam.create_policy_version(PolicyArn=arn, PolicyDocument=RIGHTS, SetAsDefault=True)


def first_page(s: Scene) -> None:
    answer = s.root.client("ssm").get_parameters_by_path(Path="/good", Recursive=True)
    assert len(answer["Parameters"]) == 10
    assert "NextToken" in answer


def found_by_tag(s: Scene) -> None:
    tagging = s.root.client("resourcegroupstaggingapi")
    tagged = tagging.get_resources(TagFilters=[{"Key": "frazil"}])["ResourceTagMappingList"]
    assert [each["ResourceARN"] for each in tagged] == ["arn:aws:s3:::lake-b"]


QUESTIONS: dict[str, tuple[str, Callable[[Scene], Any]]] = {
    "the right principal with its external id": (OK, lambda s: s.take("confluent", "ext-c")),
    "the second principal of the trust": (OK, lambda s: s.take("snowvol", "ext-v")),
    "the third principal of the trust": (OK, lambda s: s.take("snowcat", "ext-k")),
    "a wrong external id": (DENIED, lambda s: s.take("confluent", "nope")),
    "no external id": (DENIED, lambda s: s.take("confluent")),
    "the external id of another principal": (DENIED, lambda s: s.take("snowvol", "ext-k")),
    "a principal that the trust does not name": (DENIED, lambda s: s.take("stranger", "ext-c")),
    "a role that is not there": (DENIED, lambda s: s.take("confluent", "ext-c", "none")),
    "tags, with TagSession in the trust": (OK, lambda s: s.take("confluent", "ext-c", Tags=TAGS)),
    "tags, without TagSession in the trust": (DENIED, lambda s: s.take("snowvol", "ext-v", Tags=TAGS)),
    "an unknown key": ("InvalidClientTokenId", stranger("AKIAXXXXXXXXXXXXXXXX", "y")),
    "a wrong secret": ("SignatureDoesNotMatch", wrong_secret),
    "a trust in a user that is not there": ("MalformedPolicyDocument", role_trusting(f"{ARN}:user/none")),
    "a new role's trust in itself": ("MalformedPolicyDocument", role_trusting(f"{ARN}:role/r3")),
    "a role for the second time": (
        "EntityAlreadyExists",
        by_root("iam", "create_role", RoleName="bare", AssumeRolePolicyDocument=policy(*TRUST)),
    ),
    "a trust in the role itself, later": (OK, trusting_itself),
    "an object, by a role without rights": (
        DENIED,
        by_bare("s3", "get_object", Bucket="lake-a", Key="warehouse/t/x"),
    ),
    "an object in the prefix": (OK, by_writer("s3", "get_object", Bucket="lake-a", Key="warehouse/t/x")),
    "an object outside the prefix": (DENIED, by_writer("s3", "get_object", Bucket="lake-a", Key="other/x")),
    "writing in the prefix": (OK, by_writer("s3", "put_object", Bucket="lake-a", Key="warehouse/z")),
    "writing in another bucket": (DENIED, by_writer("s3", "put_object", Bucket="lake-b", Key="warehouse/z")),
    "deleting without that right": (
        DENIED,
        by_writer("s3", "delete_object", Bucket="lake-a", Key="warehouse/y"),
    ),
    "a list of the prefix": (OK, by_writer("s3", "list_objects_v2", Bucket="lake-a", Prefix="warehouse/t")),
    "a list outside the prefix": (
        DENIED,
        by_writer("s3", "list_objects_v2", Bucket="lake-a", Prefix="other/"),
    ),
    "the right database": (OK, by_writer("glue", "get_database", Name="good")),
    "another database": ("AccessDeniedException", by_writer("glue", "get_database", Name="bad")),
    "a table in the right database": (
        OK,
        by_writer("glue", "create_table", DatabaseName="good", TableInput={"Name": "t"}),
    ),
    "deleting a table without that right": (
        "AccessDeniedException",
        by_writer("glue", "delete_table", DatabaseName="good", Name="there"),
    ),
    "the right secret": (OK, by_writer("secretsmanager", "get_secret_value", SecretId="/good/a")),
    "another secret": (
        "AccessDeniedException",
        by_writer("secretsmanager", "get_secret_value", SecretId="/bad/a"),
    ),
    "a new role, by one without that right": (
        DENIED,
        by_writer("iam", "create_role", RoleName="r4", AssumeRolePolicyDocument=policy(*TRUST)),
    ),
    "deleting a role with its policy": ("DeleteConflict", by_root("iam", "delete_role", RoleName="writer")),
    "deleting a policy that is attached": (
        "DeleteConflict",
        by_root("iam", "delete_policy", PolicyArn=f"{ARN}:policy/rights"),
    ),
    "deleting a bucket with objects": ("BucketNotEmpty", by_root("s3", "delete_bucket", Bucket="lake-a")),
    "a secret whose name awaits its deletion": (
        "InvalidRequestException",
        by_root("secretsmanager", "create_secret", Name="/doomed/a", SecretString="1"),
    ),
    "reading a secret that awaits its deletion": (
        "InvalidRequestException",
        by_root("secretsmanager", "get_secret_value", SecretId="/doomed/a"),
    ),
    "a sixth version of a policy": ("LimitExceeded", sixth_version),
    "ten parameters a page": (OK, first_page),
    "a parameter for the second time": (
        "ParameterAlreadyExists",
        by_root("ssm", "put_parameter", Name="/good/p00", Value="y", Type="String"),
    ),
    "a parameter without a value": (
        "ValidationException",
        by_root("ssm", "put_parameter", Name="/good/empty", Value="", Type="String"),
    ),
    "eleven parameters a page": (
        "ValidationException",
        by_root("ssm", "get_parameters_by_path", Path="/good", MaxResults=11),
    ),
    "a bucket by its tag": (OK, found_by_tag),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_aws_answers(scene: Scene, question: str) -> None:
    expected, ask = QUESTIONS[question]

    try:
        ask(scene)
        answer = OK
    except ClientError as e:
        answer = code_of(e)

    assert answer == expected
