"""What the two roles may: all that is needed, nothing else, and each right that is missing is named."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from frazil.errors import NotAllowedError
from kit.clouds.cloud_aws import ACCOUNT, CloudAws, code_of, policy
from kit.clouds.made_at_aws import MadeAtAws

ROLES = {
    name: f"arn:aws:iam::{ACCOUNT}:role/lab_{name}" for name in ("s3_glue_role", "snowflake_s3_glue_role")
}
FOLDER = "10110110/10101001/org/env-1/lkc-1"
WRITER, READER = ROLES.values()


def writer_actions() -> list[str]:
    from frazil_cloud.aws.rights import writer

    return [
        *writer._BUCKET,
        *writer._OBJECTS,
        *writer._GLUE,
        "secretsmanager:GetSecretValue",
        "ssm:GetParametersByPath",
    ]


@pytest.fixture
def made(lab: MadeAtAws) -> MadeAtAws:
    lab.create()
    return lab


def taking(made: MadeAtAws, role: str, party: str = "", external_id: str | None = None) -> CloudAws:
    return (made.parties[party] if party else made.administrator).role(role, external_id)


def test_each_right_that_is_taken_away_is_named_with_the_statement_that_gives_it(made: MadeAtAws) -> None:
    role, iam = "lab_s3_glue_role", made.cloud.client("iam")
    statements = iam.get_role_policy(RoleName=role, PolicyName="lab_s3_glue_access_policy")["PolicyDocument"][
        "Statement"
    ]
    verify = next(each for each in made.resources if each.address == "aws/writer_role").verify

    made.cloud.client("secretsmanager").create_secret(
        Name="/confluent_cloud_resource/lab/kafka_cluster/app_producer/python_client", SecretString="{}"
    )

    named = {}
    for action in writer_actions():
        left = [
            {**each, "Action": [a for a in each["Action"] if a != action] or ["none:None"]}
            for each in statements
        ]
        iam.put_role_policy(
            RoleName=role, PolicyName="lab_s3_glue_access_policy", PolicyDocument=policy(*left)
        )
        with pytest.raises(NotAllowedError) as refused:
            verify({}, {})
        named[action] = f'"Action": "{action}"' in refused.value.todo

    assert [action for action, is_named in named.items() if not is_named] == []


def test_a_role_that_trusts_nobody_is_named_with_what_its_trust_lacks(made: MadeAtAws) -> None:
    document = policy(
        {"Effect": "Allow", "Principal": {"Service": "glue.amazonaws.com"}, "Action": "sts:AssumeRole"}
    )
    made.cloud.client("iam").update_assume_role_policy(RoleName="lab_s3_glue_role", PolicyDocument=document)

    failure = made.failures()["aws/writer_role"]

    assert failure.what == "The role lab_s3_glue_role can't be taken."
    assert "Its trust must name you" in failure.todo


def test_the_writer_reaches_no_other_folder_bucket_or_database(made: MadeAtAws) -> None:
    made.cloud.client("s3").create_bucket(Bucket="other")
    made.cloud.client("glue").create_database(DatabaseInput={"Name": "other"})
    us = taking(made, WRITER)

    assert refused(us.client("s3").put_object, Bucket="lab-lake", Key="elsewhere/x")
    assert refused(us.client("s3").put_object, Bucket="other", Key="warehouse/x")
    assert refused(us.client("glue").create_table, DatabaseName="other", TableInput={"Name": "t"})
    assert refused(us.client("iam").create_user, UserName="u")


@pytest.mark.parametrize(("party", "external_id"), [("volume", "ext-v"), ("integration", "ext-i")])
def test_snowflake_takes_the_reader_with_the_external_id_of_each_user(
    made: MadeAtAws, party: str, external_id: str
) -> None:
    assert taking(made, READER, party, external_id)
    assert refused(lambda: taking(made, READER, party, "wrong"))
    assert refused(lambda: taking(made, READER, party))


def test_the_reader_reads_the_folder_and_the_catalog_and_writes_nothing(made: MadeAtAws) -> None:
    made.cloud.client("s3").put_object(Bucket="lab-lake", Key="warehouse/t/x", Body=b"1")
    made.cloud.client("s3").put_object(Bucket="lab-lake", Key="elsewhere/x", Body=b"1")
    them = taking(made, READER, "volume", "ext-v")
    s3, glue = them.client("s3"), them.client("glue")

    assert s3.get_object(Bucket="lab-lake", Key="warehouse/t/x")["Body"].read() == b"1"
    assert s3.list_objects_v2(Bucket="lab-lake", Prefix="warehouse/t")["KeyCount"] == 1
    assert glue.get_database(Name="lab")["Database"]["Name"] == "lab"
    assert refused(s3.get_object, Bucket="lab-lake", Key="elsewhere/x")
    assert refused(s3.list_objects_v2, Bucket="lab-lake", Prefix="elsewhere/")
    assert refused(s3.list_objects_v2, Bucket="lab-lake")
    assert refused(s3.put_object, Bucket="lab-lake", Key="warehouse/t/y")
    assert refused(s3.delete_object, Bucket="lab-lake", Key="warehouse/t/x")
    assert refused(glue.create_table, DatabaseName="lab", TableInput={"Name": "t"})


def test_confluent_takes_the_writer_with_its_external_id_and_tags(tableflow: MadeAtAws) -> None:
    tableflow.create()
    confluent = tableflow.parties["confluent"]

    them = confluent.role(WRITER, "ext-c", Tags=[{"Key": "a", "Value": "b"}])

    assert them.role(WRITER)  # and from there itself (D3)
    assert refused(lambda: confluent.role(WRITER))
    assert refused(lambda: confluent.role(WRITER, "wrong"))


def test_confluent_in_the_writer_can_read_no_secret(tableflow: MadeAtAws) -> None:
    tableflow.create()
    tableflow.cloud.client("secretsmanager").create_secret(
        Name="/confluent_cloud_resource/lab/flink", SecretString="{}"
    )
    secrets = taking(tableflow, WRITER, "confluent", "ext-c").client("secretsmanager")

    assert refused(secrets.get_secret_value, SecretId="/confluent_cloud_resource/lab/flink")


@pytest.mark.parametrize(
    ("slashes", "lies"),
    [
        (FOLDER, FOLDER),
        (f"/{FOLDER}", f"/{FOLDER}"),
        (f"/{FOLDER}", FOLDER),
        ("10110110//10101001/org/env-1/lkc-1", "10110110//10101001/org/env-1/lkc-1"),
        ("10110110//10101001/org/env-1/lkc-1", FOLDER),
    ],
)
@pytest.mark.each_time(
    "10110110/10101001/org/env-1/lkc-1-10110110/10101001/org/env-1/lkc-1",
    "10110110//10101001/org/env-1/lkc-1-10110110/10101001/org/env-1/lkc-1",
)
def test_the_reader_of_tableflow_s_tables_reads_where_they_lie(
    tableflow: MadeAtAws, monkeypatch: pytest.MonkeyPatch, slashes: str, lies: str
) -> None:
    """A path with two slashes in a row may be told of keys that have both, or one."""
    monkeypatch.setattr("kit.clouds.made_at_aws.PATH", f"s3://lab-lake/{slashes}/v1/a-table")
    tableflow.create()
    s3 = tableflow.cloud.client("s3")
    for key in (f"{lies}/v1/a-table/data/x", "10110110/other/v1/x"):
        s3.put_object(Bucket="lab-lake", Key=key, Body=b"1")
    them = taking(tableflow, READER, "volume", "ext-v").client("s3")

    assert them.get_object(Bucket="lab-lake", Key=f"{lies}/v1/a-table/data/x")["Body"].read() == b"1"
    assert them.list_objects_v2(Bucket="lab-lake", Prefix=f"{lies}/v1/")["KeyCount"] == 1
    assert refused(them.get_object, Bucket="lab-lake", Key="10110110/other/v1/x")


def test_the_bucket_answers_by_tls_only(made: MadeAtAws) -> None:
    us = taking(made, WRITER).client("s3")
    us.put_object(Bucket="lab-lake", Key="warehouse/x", Body=b"1")
    made.cloud.turn(more={"plain": True})

    assert refused(us.get_object, Bucket="lab-lake", Key="warehouse/x")
    root = made.cloud.client("s3")  # what a bucket's policy denies to all it denies to the account's owner
    assert refused(root.get_object, Bucket="lab-lake", Key="warehouse/x")
    assert refused(root.put_object, Bucket="lab-lake", Key="warehouse/x", Body=b"2")
    made.cloud.turn()
    assert root.get_object(Bucket="lab-lake", Key="warehouse/x")["Body"].read() == b"1"


def refused(ask: Any, **options: Any) -> bool:
    try:
        ask(**options)
    except ClientError as e:
        return code_of(e).startswith("AccessDenied")
    return False
