"""What somebody changes by hand at AWS is named, and healed or explained."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from kit.clouds.cloud_aws import allow, policy
from kit.deployments.tour import Change, Frazil, Tour, explain, explained, heal, waves

pytestmark = pytest.mark.nightly

SOON = (
    *("confluent/tableflow/stock_trades", "confluent/tableflow/totals", "confluent/glue_sync"),
    *("snowflake/table/trades", "snowflake/view/trades"),
)
"""What tries the roles from time to time, and so is named besides, sooner or later."""
BUCKET, WRITER, READER = "aws/bucket", "aws/writer_role", "aws/reader_role"
EVERYBODY = {"Effect": "Allow", "Principal": "*"}


def iam(tour: Tour) -> Any:
    return tour.aws("iam")


def s3(tour: Tour, call: str, **options: Any) -> Any:
    return getattr(tour.aws("s3"), call)(Bucket=tour.spec.aws.bucket, **options)


def trusted_by_all(tour: Tour) -> None:
    document = policy({**EVERYBODY, "Action": "sts:AssumeRole"})
    iam(tour).update_assume_role_policy(RoleName=tour.spec.names.writer_role, PolicyDocument=document)


def trusted_by_one_less(tour: Tour) -> None:
    role = tour.spec.names.reader_role
    document = iam(tour).get_role(RoleName=role)["Role"]["AssumeRolePolicyDocument"]
    iam(tour).update_assume_role_policy(RoleName=role, PolicyDocument=policy(*document["Statement"][1:]))


def own_policy(tour: Tour, role: str) -> tuple[str, list[dict[str, Any]]]:
    """Name and statements of the policy that the deployment gave a role."""
    (name,) = iam(tour).list_role_policies(RoleName=role)["PolicyNames"]
    document = iam(tour).get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
    return name, document["Statement"]


def narrow(tour: Tour) -> None:
    role = tour.spec.names.writer_role
    name, statements = own_policy(tour, role)
    less = [{**each, "Action": [a for a in each["Action"] if a != "s3:DeleteObject"]} for each in statements]
    iam(tour).put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=policy(*less))


def widen(tour: Tour) -> None:
    role = tour.spec.names.reader_role
    name, statements = own_policy(tour, role)
    iam(tour).put_role_policy(
        RoleName=role, PolicyName=name, PolicyDocument=policy(*statements, allow("s3:*"))
    )


def another_policy(tour: Tour) -> None:
    policy_given = {"PolicyName": "more", "PolicyDocument": policy(allow("s3:*"))}
    iam(tour).put_role_policy(RoleName=tour.spec.names.writer_role, **policy_given)


def managed_policy(tour: Tour) -> None:
    arn = iam(tour).create_policy(PolicyName="all", PolicyDocument=policy(allow("*")))["Policy"]["Arn"]
    iam(tour).attach_role_policy(RoleName=tour.spec.names.reader_role, PolicyArn=arn)


def no_rights(tour: Tour) -> None:
    role = tour.spec.names.reader_role
    iam(tour).delete_role_policy(RoleName=role, PolicyName=own_policy(tour, role)[0])


def no_role(tour: Tour) -> None:
    no_rights(tour)
    iam(tour).delete_role(RoleName=tour.spec.names.reader_role)


def no_tag(tour: Tour) -> None:
    iam(tour).untag_role(RoleName=tour.spec.names.writer_role, TagKeys=["frazil"])


def tag(tour: Tour, *_: object) -> None:
    tags = [{"Key": "frazil", "Value": tour.spec.name}]
    iam(tour).tag_role(RoleName=tour.spec.names.writer_role, Tags=tags)


def read_by_another(tour: Tour) -> None:
    arn = f"arn:aws:s3:::{tour.spec.aws.bucket}/*"
    other = {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::222222222222:root"}}
    document = policy({**other, "Action": "s3:GetObject", "Resource": arn})
    s3(tour, "put_bucket_policy", Policy=document)


def by_a_key(tour: Tour) -> None:
    rule = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}}
    s3(tour, "put_bucket_encryption", ServerSideEncryptionConfiguration={"Rules": [rule]})


def no_bucket_tag(tour: Tour, *_: object) -> None:
    s3(tour, "delete_bucket_tagging")


def tag_bucket(tour: Tour, *_: object) -> None:
    s3(tour, "put_bucket_tagging", Tagging={"TagSet": [{"Key": "frazil", "Value": tour.spec.name}]})


def secret_of(tour: Tour, use: Any) -> str:
    return tour.spec.names.secret(use)


def say_in_secret(tour: Tour, use: Any, **values: str) -> None:
    name = secret_of(tour, use)
    text = json.dumps({**tour.secret(name), **{key.replace("_", "."): v for key, v in values.items()}})
    tour.aws("secretsmanager").put_secret_value(SecretId=name, SecretString=text)


def no_secret(tour: Tour, use: Any) -> None:
    request = {"SecretId": secret_of(tour, use), "ForceDeleteWithoutRecovery": True}
    tour.aws("secretsmanager").delete_secret(**request)


def doomed_secret(tour: Tour, use: Any) -> None:
    tour.aws("secretsmanager").delete_secret(SecretId=secret_of(tour, use))


def spoil_secret(tour: Tour, use: Any) -> None:
    tour.aws("secretsmanager").put_secret_value(SecretId=secret_of(tour, use), SecretString="no JSON")


def read_secret_by_all(tour: Tour) -> None:
    document = policy({**EVERYBODY, "Action": "secretsmanager:GetSecretValue", "Resource": "*"})
    name = secret_of(tour, "app_consumer")
    tour.aws("secretsmanager").put_resource_policy(SecretId=name, ResourcePolicy=document)


def parameter(tour: Tour, rest: str) -> str:
    return f"{tour.spec.names.parameters}/{rest}"


def acks(tour: Tour) -> None:
    parameter_given = {"Name": parameter(tour, "producer_kafka_client/acks"), "Value": "0", "Type": "String"}
    tour.aws("ssm").put_parameter(**parameter_given, Overwrite=True)


def no_parameter(tour: Tour) -> None:
    tour.aws("ssm").delete_parameter(Name=parameter(tour, "consumer_kafka_client/sasl.mechanism"))


def glue(tour: Tour, **noted: str) -> None:
    """Notes something else in the database, or nothing."""
    name = tour.spec.names.glue_database
    had = tour.aws("glue").get_database(Name=name)["Database"].get("Parameters", {}) if noted else {}
    database = {
        "Name": name,
        "Parameters": {**had, **{key.replace("__", "."): v for key, v in noted.items()}},
    }
    tour.aws("glue").update_database(Name=name, DatabaseInput=database)


def mark_glue(tour: Tour, *_: object) -> None:
    glue(tour, frazil__deployment=tour.spec.name)


def no_group(tour: Tour) -> None:
    tour.aws("logs").delete_log_group(logGroupName=tour.spec.names.log_group)


def for_ever(tour: Tour) -> None:
    tour.aws("logs").delete_retention_policy(logGroupName=tour.spec.names.log_group)


CHANGES = (
    Change("everybody may take the writer's role", trusted_by_all, (WRITER,), ("trust", '"*"')),
    Change("the reader's role trusts one less", trusted_by_one_less, (READER,), ("trust",)),
    Change("the writer may not delete", narrow, (WRITER,), ("rights",)),
    Change("the reader may do all in S3", widen, (READER,), ("rights", "s3:*")),
    Change("the writer has a policy more", another_policy, (WRITER,), ("other_policies", "more")),
    Change("the reader has a managed policy", managed_policy, (READER,), ("other_policies", "policy/all")),
    Change("the reader has no rights", no_rights, (READER,), ("rights",)),
    Change("the reader's role is gone", no_role, (READER,)),
    Change(
        "the writer's role bears no tag",
        no_tag,
        (WRITER,),
        advice=("it lacks the tag frazil = lab",),
        mended=tag,
    ),
    Change(
        "the bucket may become public", lambda t: s3(t, "delete_public_access_block"), (BUCKET,), ("private",)
    ),
    Change("the bucket answers without TLS", lambda t: s3(t, "delete_bucket_policy"), (BUCKET,), ("policy",)),
    Change("another account may read the bucket", read_by_another, (BUCKET,), ("policy", "s3:GetObject")),
    Change(
        "uploads are never aborted",
        lambda t: s3(t, "delete_bucket_lifecycle"),
        (BUCKET,),
        ("abort_multipart_days",),
    ),
    Change("the bucket is encrypted otherwise", by_a_key, (BUCKET,), ("encryption",)),
    Change(
        "the bucket bears no tag",
        no_bucket_tag,
        (BUCKET,),
        advice=("it lacks the tag frazil = lab",),
        mended=tag_bucket,
    ),
    Change(
        "a secret names another broker",
        lambda t: say_in_secret(t, "app_consumer", bootstrap_servers="elsewhere:9092"),
        ("confluent/key/app_consumer",),
        ("elsewhere",),
    ),
    Change(
        "a secret is gone",
        lambda t: no_secret(t, "app_producer"),
        ("confluent/key/app_producer",),
        ("stored",),
    ),
    Change(
        "a secret awaits its deletion",
        lambda t: doomed_secret(t, "schema_registry"),
        ("confluent/key/schema_registry",),
        ("stored",),
    ),
    Change(
        "a secret is no JSON",
        lambda t: spoil_secret(t, "app_consumer"),
        advice=("no JSON object", "it may be deleted"),
        mended=lambda t, _: no_secret(t, "app_consumer"),
        ends_looks=True,
    ),
    Change(
        "everybody may read a secret",
        read_secret_by_all,
        ("aws/secret_policies",),
        ("app_consumer", "GetSecretValue"),
    ),
    Change("a parameter has another value", acks, ("aws/parameters",), ("acks",)),
    Change("a parameter is gone", no_parameter, ("aws/parameters",), ("sasl.mechanism",)),
    Change("logs are kept forever", for_ever, ("aws/log_group",), ("retention_days",)),
    Change("the log group is gone", no_group, ("aws/log_group",)),
    Change(
        "Glue's database notes another bucket",
        lambda t: glue(t, frazil__bucket="elsewhere"),
        ("aws/glue",),
        ("elsewhere",),
    ),
    Change(
        "Glue's database bears no mark",
        glue,
        ("aws/glue",),
        advice=("Glue's database lab is there, and is not of this deployment",),
        mended=mark_glue,
    ),
)


SEEN = [replace(change, also=SOON) for change in CHANGES]


@pytest.mark.parametrize("wave", waves(SEEN), ids=lambda wave: f"{wave[0]} and {len(wave) - 1} more")
def test_changes_by_hand_are_named_and_healed(tour: Tour, frazil: Frazil, wave: list[Change]) -> None:
    heal(tour, frazil, wave)


@pytest.mark.parametrize("change", explained(SEEN), ids=str)
def test_a_change_that_nobody_may_heal_is_explained(tour: Tour, frazil: Frazil, change: Change) -> None:
    explain(tour, frazil, change)
