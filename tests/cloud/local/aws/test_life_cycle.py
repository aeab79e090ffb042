"""The stand-in knows the calls by which a deployment's objects are made, read, changed and removed."""

from __future__ import annotations

import json
from typing import Any

from kit.clouds.cloud_aws import ACCOUNT, CloudAws, allow, policy, trust

TAGS = [{"Key": "frazil", "Value": "lab"}]
BUCKET = {"Bucket": "lake"}


def test_a_bucket_with_all_its_settings(aws: CloudAws) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(**BUCKET)
    block = dict.fromkeys(
        ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"), True
    )
    s3.put_public_access_block(**BUCKET, PublicAccessBlockConfiguration=block)
    s3.put_bucket_tagging(**BUCKET, Tagging={"TagSet": TAGS})
    s3.put_bucket_versioning(**BUCKET, VersioningConfiguration={"Status": "Enabled"})
    own = {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    s3.put_bucket_ownership_controls(**BUCKET, OwnershipControls=own)
    encryption = {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]}
    s3.put_bucket_encryption(**BUCKET, ServerSideEncryptionConfiguration=encryption)
    abort = {"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}}
    rules = [{"ID": "a", "Status": "Enabled", "Filter": {"Prefix": ""}, **abort}]
    s3.put_bucket_lifecycle_configuration(**BUCKET, LifecycleConfiguration={"Rules": rules})

    assert s3.get_public_access_block(**BUCKET)["PublicAccessBlockConfiguration"] == block
    assert s3.get_bucket_tagging(**BUCKET)["TagSet"] == TAGS
    assert s3.get_bucket_versioning(**BUCKET)["Status"] == "Enabled"
    assert s3.get_bucket_ownership_controls(**BUCKET)["OwnershipControls"] == own
    assert s3.get_bucket_encryption(**BUCKET)["ServerSideEncryptionConfiguration"]["Rules"]
    assert s3.get_bucket_lifecycle_configuration(**BUCKET)["Rules"][0]["ID"] == "a"


def test_versions_marks_and_uploads_are_listed_and_removed(aws: CloudAws) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(**BUCKET)
    s3.put_bucket_versioning(**BUCKET, VersioningConfiguration={"Status": "Enabled"})
    for key in ("a", "b", "a"):
        s3.put_object(**BUCKET, Key=key, Body=b"x")
    s3.delete_object(**BUCKET, Key="b")
    upload = s3.create_multipart_upload(**BUCKET, Key="m")["UploadId"]

    versions = s3.list_object_versions(**BUCKET)
    assert (len(versions["Versions"]), len(versions["DeleteMarkers"])) == (3, 1)
    assert [each["UploadId"] for each in s3.list_multipart_uploads(**BUCKET)["Uploads"]] == [upload]

    all_ = [
        {"Key": e["Key"], "VersionId": e["VersionId"]}
        for e in versions["Versions"] + versions["DeleteMarkers"]
    ]
    s3.delete_objects(**BUCKET, Delete={"Objects": all_})
    s3.abort_multipart_upload(**BUCKET, Key="m", UploadId=upload)
    s3.delete_bucket(**BUCKET)
    assert s3.list_buckets()["Buckets"] == []


def test_a_role_and_a_managed_policy(aws: CloudAws) -> None:
    iam = aws.client("iam")
    iam.create_role(RoleName="r", AssumeRolePolicyDocument=policy(trust("glue.amazonaws.com")), Tags=TAGS)
    iam.put_role_policy(RoleName="r", PolicyName="p", PolicyDocument=policy(allow("logs:*")))
    arn = iam.create_policy(PolicyName="m", PolicyDocument=policy(allow("s3:GetObject")))["Policy"]["Arn"]
    iam.attach_role_policy(RoleName="r", PolicyArn=arn)
    iam.create_policy_version(PolicyArn=arn, PolicyDocument=policy(allow("s3:*")), SetAsDefault=True)

    assert iam.get_role(RoleName="r")["Role"]["Tags"] == TAGS
    assert iam.list_role_policies(RoleName="r")["PolicyNames"] == ["p"]
    assert iam.list_attached_role_policies(RoleName="r")["AttachedPolicies"][0]["PolicyArn"] == arn
    simulation = iam.simulate_principal_policy(
        PolicySourceArn=f"arn:aws:iam::{ACCOUNT}:role/r", ActionNames=["s3:PutObject"], ResourceArns=["*"]
    )
    assert simulation["EvaluationResults"][0]["EvalDecision"] == "allowed"

    iam.detach_role_policy(RoleName="r", PolicyArn=arn)
    iam.delete_policy_version(PolicyArn=arn, VersionId="v1")
    iam.delete_policy(PolicyArn=arn)
    iam.delete_role_policy(RoleName="r", PolicyName="p")
    iam.delete_role(RoleName="r")
    assert iam.list_roles()["Roles"] == []


def test_a_secret_is_turned_by_its_stages(aws: CloudAws) -> None:
    api, name = aws.client("secretsmanager"), {"SecretId": "/s"}
    old = api.create_secret(Name="/s", SecretString="1", Tags=TAGS)["VersionId"]
    new = api.put_secret_value(**name, SecretString="2", VersionStages=["AWSPENDING"])["VersionId"]
    assert api.get_secret_value(**name)["SecretString"] == "1"
    assert api.get_secret_value(**name, VersionStage="AWSPENDING")["SecretString"] == "2"

    move: dict[str, Any] = {"VersionStage": "AWSCURRENT", "MoveToVersionId": new, "RemoveFromVersionId": old}
    api.update_secret_version_stage(**name, **move)

    assert api.get_secret_value(**name)["SecretString"] == "2"
    assert api.get_secret_value(**name, VersionStage="AWSPREVIOUS")["SecretString"] == "1"
    secrets = api.list_secrets(Filters=[{"Key": "tag-key", "Values": ["frazil"]}])["SecretList"]
    assert [each["Name"] for each in secrets] == ["/s"]


def test_parameters_are_tagged_listed_and_removed_ten_at_a_time(aws: CloudAws) -> None:
    ssm = aws.client("ssm")
    for number in range(13):
        ssm.put_parameter(Name=f"/u/p{number}", Value="1", Type="String", Tags=TAGS)
    ssm.put_parameter(Name="/u/s", Value="s", Type="SecureString")

    pages = ssm.get_paginator("get_parameters_by_path").paginate(Path="/u", WithDecryption=True)
    assert [len(page["Parameters"]) for page in pages] == [10, 4]
    assert ssm.list_tags_for_resource(ResourceType="Parameter", ResourceId="/u/p1")["TagList"] == TAGS
    gone = ssm.delete_parameters(Names=[f"/u/p{number}" for number in range(10)])
    assert len(gone["DeletedParameters"]) == 10


def test_a_database_of_glue_with_tables(aws: CloudAws) -> None:
    glue = aws.client("glue")
    glue.create_database(DatabaseInput={"Name": "lkc-1", "Parameters": {"frazil": "lab"}})
    glue.update_database(Name="lkc-1", DatabaseInput={"Name": "lkc-1", "Parameters": {"frazil": "two"}})
    glue.create_table(DatabaseName="lkc-1", TableInput={"Name": "t"})

    assert glue.get_database(Name="lkc-1")["Database"]["Parameters"] == {"frazil": "two"}
    assert [each["Name"] for each in glue.get_tables(DatabaseName="lkc-1")["TableList"]] == ["t"]
    glue.batch_delete_table(DatabaseName="lkc-1", TablesToDelete=["t"])
    glue.delete_database(Name="lkc-1")
    assert glue.get_databases()["DatabaseList"] == []


def test_a_log_group_with_its_retention(aws: CloudAws) -> None:
    logs, name = aws.client("logs"), {"logGroupName": "/frazil/lab"}
    logs.create_log_group(**name, tags={"frazil": "lab"})
    logs.put_retention_policy(**name, retentionInDays=7)

    (group,) = logs.describe_log_groups(logGroupNamePrefix="/frazil/lab")["logGroups"]
    assert group["retentionInDays"] == 7
    assert logs.list_tags_for_resource(resourceArn=group["arn"].removesuffix(":*"))["tags"] == {
        "frazil": "lab"
    }
    logs.delete_log_group(**name)
    assert logs.describe_log_groups()["logGroups"] == []


def test_the_bucket_s_policy(aws: CloudAws) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(**BUCKET)
    deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::lake/*"}
    document = policy({**deny, "Condition": {"Bool": {"aws:SecureTransport": "false"}}})
    s3.put_bucket_policy(**BUCKET, Policy=document)

    assert json.loads(s3.get_bucket_policy(**BUCKET)["Policy"]) == json.loads(document)
    s3.delete_bucket_policy(**BUCKET)
