"""A deployment's objects at AWS: made, proved, healed, removed."""

from __future__ import annotations

import json

import pytest

from frazil.errors import ConfigureError, DifferentError
from frazil_cloud.aws.bucket import object_keys
from frazil_cloud.aws.client import Aws
from frazil_cloud.aws.rights.policies import canonical
from kit.clouds.cloud_aws import ACCOUNT, CloudAws, policy, trust
from kit.clouds.made_at_aws import FOREIGN, MadeAtAws

WRITER, READER = "lab_s3_glue_role", "lab_snowflake_s3_glue_role"


def test_all_is_made_and_works_and_a_second_plan_is_empty(lab: MadeAtAws) -> None:
    lab.create()

    assert lab.drift() == {}
    assert lab.failures() == {}


def test_logs_are_kept_as_long_as_the_deployment_says_and_no_longer(lab: MadeAtAws, aws: CloudAws) -> None:
    lab.create()

    groups = aws.client("logs").describe_log_groups()["logGroups"]
    assert [(each["logGroupName"], each["retentionInDays"]) for each in groups] == [("/frazil/lab", 7)]


def test_what_tableflow_writes_to_is_made_and_works(tableflow: MadeAtAws) -> None:
    tableflow.create()

    assert tableflow.drift() == {}
    assert tableflow.failures() == {}


def test_nothing_is_left_and_a_second_removal_finds_nothing(tableflow: MadeAtAws) -> None:
    tableflow.create()
    assert set(tableflow.everything()) == {"buckets", "roles", "databases", "parameters", "logs"}

    tableflow.destroy()
    assert tableflow.everything() == {}

    tableflow.destroy()
    assert tableflow.everything() == {}


def test_what_got_another_name_is_removed_and_a_bucket_by_an_explicit_word_only(lab: MadeAtAws) -> None:
    lab.create()
    lab.document = {"name": "lab", "aws": {"bucket": "lab-pond", "writer_role": "lab_writer"}}
    plan = lab.reconciler().plan()
    lab.create()

    assert {s.address for s in plan.news if s.action == "delete"} == {
        f"aws/writer_role/{WRITER}", f"aws/reader_role/{READER}"
    }  # fmt: skip
    assert [step.address for step in plan.held_back] == ["aws/bucket/lab-lake"]
    assert lab.drift() == {}
    assert lab.everything()["roles"] == ["lab_writer"]
    assert lab.everything()["buckets"] == ["lab-lake", "lab-pond"]

    removing = lab.reconciler(removes_data=True)
    removing.apply(removing.plan())
    assert lab.everything()["buckets"] == ["lab-pond"]
    assert removing.plan().steps == lab.reconciler().plan().steps


def test_every_third_answer_is_lost_and_every_seventh_call_is_too_many(lab: MadeAtAws) -> None:
    lab.cloud.turn(lose_every=3, throttle_every=7)
    lab.create()
    lab.cloud.turn()

    assert lab.drift() == {}


@pytest.mark.nightly  # by day confluent/test_faults.py removes a deployment by such answers
def test_it_goes_though_every_third_answer_is_lost_and_every_seventh_call_is_too_many(lab: MadeAtAws) -> None:
    lab.create()
    lab.cloud.turn(lose_every=3, throttle_every=7)
    lab.destroy()
    lab.cloud.turn()
    assert lab.everything() == {}


@pytest.mark.nightly
def test_roles_that_are_seen_late_are_waited_for(lab: MadeAtAws) -> None:
    lab.late = 30.0
    lab.create()
    lab.cloud.turn(propagation=2.0)
    lab.cloud.client("iam").update_assume_role_policy(
        RoleName=WRITER, PolicyDocument=policy(trust(f"arn:aws:iam::{ACCOUNT}:root"))
    )

    assert lab.failures(patience=30.0) == {}


@pytest.mark.nightly
def test_a_principal_that_was_deleted_and_made_anew_is_drift(lab: MadeAtAws) -> None:
    lab.create()
    volume = lab.parties["volume"]
    iam = CloudAws(volume.url, FOREIGN, "test").client("iam")
    iam.delete_access_key(UserName="volume", AccessKeyId=volume.key)
    iam.delete_user_policy(UserName="volume", PolicyName="may")
    iam.delete_user(UserName="volume")
    iam.create_user(UserName="volume")

    assert lab.drift() == {"aws/reader_role": ["trust"]}
    lab.create()
    assert lab.drift() == {}


def test_documents_that_say_the_same_are_no_drift(lab: MadeAtAws) -> None:
    lab.create()
    iam = lab.cloud.client("iam")
    document = iam.get_role(RoleName=WRITER)["Role"]["AssumeRolePolicyDocument"]
    shuffled = [{"Sid": f"S{n}", **each} for n, each in enumerate(reversed(document["Statement"]))]
    text = json.dumps({"Statement": shuffled, "Version": document["Version"]})
    iam.update_assume_role_policy(
        RoleName=WRITER, PolicyDocument=text.replace(f'["arn:aws:iam::{ACCOUNT}:root"]', f'"{ACCOUNT}"')
    )

    assert lab.drift() == {}


@pytest.mark.parametrize("name", ["lab_s3_glue_role", "lab_snowflake_s3_glue_role"])
def test_a_role_of_somebody_else_is_left_alone(lab: MadeAtAws, name: str) -> None:
    document = policy(trust("glue.amazonaws.com"))
    lab.cloud.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=document)

    with pytest.raises(DifferentError, match="not of this deployment"):
        lab.create()
    lab.destroy()

    kept = lab.cloud.client("iam").get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]
    assert canonical(kept) == canonical(document)


def test_a_bucket_of_somebody_else_keeps_its_objects(lab: MadeAtAws) -> None:
    s3 = lab.cloud.client("s3")
    s3.create_bucket(Bucket="lab-lake")
    s3.put_object(Bucket="lab-lake", Key="theirs", Body=b"x")

    with pytest.raises(DifferentError, match="The bucket lab-lake is there"):
        lab.create()
    lab.destroy()

    assert s3.get_object(Bucket="lab-lake", Key="theirs")["Body"].read() == b"x"


def test_a_bucket_of_another_account_is_a_name_that_is_taken(lab: MadeAtAws) -> None:
    CloudAws(lab.cloud.url, "222222222222", "test").client("s3").create_bucket(Bucket="lab-lake")

    with pytest.raises(ConfigureError, match="belongs to another account"):
        lab.create()


def test_a_log_group_and_a_database_of_somebody_else_are_left_alone(lab: MadeAtAws) -> None:
    lab.cloud.client("logs").create_log_group(logGroupName="/frazil/lab")
    lab.cloud.client("glue").create_database(DatabaseInput={"Name": "lab"})

    with pytest.raises(DifferentError):
        lab.create()
    lab.destroy()

    assert lab.everything() == {"databases": ["lab"], "logs": ["/frazil/lab"]}


def test_a_bucket_goes_with_all_versions_marks_and_uploads(lab: MadeAtAws) -> None:
    lab.create()
    s3, bucket = lab.cloud.client("s3"), {"Bucket": "lab-lake"}
    s3.put_bucket_versioning(**bucket, VersioningConfiguration={"Status": "Enabled"})
    for key in ("a", "b", "a"):
        s3.put_object(**bucket, Key=key, Body=b"x")
    s3.delete_object(**bucket, Key="b")
    s3.create_multipart_upload(**bucket, Key="begun")

    lab.destroy()

    assert lab.everything() == {}


def test_the_database_that_tableflow_made_goes_too_with_its_tables(tableflow: MadeAtAws) -> None:
    tableflow.create()
    glue = tableflow.cloud.client("glue")
    glue.create_database(DatabaseInput={"Name": "lkc-1"})
    for number in range(120):
        glue.create_table(DatabaseName="lkc-1", TableInput={"Name": f"t{number}"})

    tableflow.destroy()

    assert tableflow.everything() == {}


def test_tableflow_s_database_is_known_when_the_cluster_is_gone(tableflow: MadeAtAws) -> None:
    tableflow.create()
    tableflow.cloud.client("glue").create_database(DatabaseInput={"Name": "lkc-1"})
    glue = next(each for each in tableflow.resources if each.address == "aws/glue")

    there = glue.read({})
    assert there
    glue.delete(there, {})

    assert "databases" not in tableflow.everything()
    assert glue.read({}) is None


def test_a_role_that_was_begun_gets_its_rights(lab: MadeAtAws) -> None:
    lab.cloud.turn(once={"PutRolePolicy": "drop"})
    lab.create()

    assert lab.failures() == {}


def test_all_keys_of_a_bucket_are_told_page_by_page(aws: CloudAws) -> None:
    """Also one of which a delete marker alone is left."""
    s3, asked = aws.client("s3"), {"Bucket": "many-keys"}
    s3.create_bucket(**asked)
    s3.put_bucket_versioning(**asked, VersioningConfiguration={"Status": "Enabled"})
    for number in range(5):
        s3.put_object(**asked, Key=f"{number}/a", Body=b"")
    gone = s3.put_object(**asked, Key="gone", Body=b"")
    s3.delete_object(**asked, Key="gone")
    s3.delete_object(**asked, Key="gone", VersionId=gone["VersionId"])

    for page in (1, 2, 1000):
        keys = list(object_keys(Aws(aws.settings), "many-keys", page))
        assert sorted(keys) == [*(f"{number}/a" for number in range(5)), "gone"], page
