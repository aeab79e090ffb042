"""What errors of a deployment at AWS advise is done, and comes out right; nothing goes that is not named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from frazil.errors import ClientSettingsError, ConfigureError, DifferentError, NotAllowedError
from frazil_cloud.aws.client import Aws
from frazil_cloud.aws.client_settings import client_settings
from frazil_cloud.aws.secrets import SecretsManager
from kit.clouds.cloud_aws import ACCOUNT, CloudAws, allow, policy, trust
from kit.clouds.cloud_confluent import CloudConfluent, Deployed
from kit.clouds.made_at_aws import LAB, MadeAtAws

TAG = {"Key": "frazil", "Value": "lab"}
WRITER = "lab_s3_glue_role"
WRITERS_ARN = f"arn:aws:iam::{ACCOUNT}:role/{WRITER}"

Deed = Callable[[CloudAws], object]


def _lose_the_bucket(cloud: CloudAws) -> object:
    cloud.client("s3").put_object(Bucket="lab-lake", Key="warehouse/orders/data.parquet", Body=b"rows")
    return cloud.client("s3").delete_bucket_tagging(Bucket="lab-lake")


def _tag_the_bucket(cloud: CloudAws) -> object:
    return cloud.client("s3").put_bucket_tagging(Bucket="lab-lake", Tagging={"TagSet": [TAG]})


def _lose_the_role(cloud: CloudAws) -> object:
    return cloud.client("iam").untag_role(RoleName=WRITER, TagKeys=["frazil"])


def _tag_the_role(cloud: CloudAws) -> object:
    return cloud.client("iam").tag_role(RoleName=WRITER, Tags=[TAG])


def _lose_the_logs(cloud: CloudAws) -> object:
    return cloud.client("logs").untag_log_group(logGroupName="/frazil/lab", tags=["frazil"])


def _tag_the_logs(cloud: CloudAws) -> object:
    return cloud.client("logs").tag_log_group(logGroupName="/frazil/lab", tags={"frazil": "lab"})


def _lose_the_database(cloud: CloudAws) -> object:
    database = {"Name": "lab", "Parameters": {"of": "others"}}
    return cloud.client("glue").update_database(Name="lab", DatabaseInput=database)


def _mark_the_database(cloud: CloudAws) -> object:
    database = {"Name": "lab", "Parameters": {"frazil.deployment": "lab"}}
    return cloud.client("glue").update_database(Name="lab", DatabaseInput=database)


@pytest.mark.each_time("bucket")
@pytest.mark.parametrize(
    ("lose", "give", "mark"),
    [
        (_lose_the_bucket, _tag_the_bucket, "tag frazil"), (_lose_the_role, _tag_the_role, "tag frazil"),
        (_lose_the_logs, _tag_the_logs, "tag frazil"),
        (_lose_the_database, _mark_the_database, "parameter frazil.deployment"),
    ],
    ids=["bucket", "role", "logs", "database"],
)  # fmt: skip
def test_an_object_that_lost_its_mark_is_given_it_and_all_goes_on(
    lab: MadeAtAws, lose: Deed, give: Deed, mark: str
) -> None:
    """The first advice was another name: an empty bucket beside the one with the tables."""
    lab.create()
    before = lab.everything()
    lose(lab.cloud)
    with pytest.raises(DifferentError, match="is not of this deployment") as raised:
        lab.create()
    assert raised.value.todo.startswith(f"If it is the deployment's own, give it the {mark} = lab:")

    give(lab.cloud)
    lab.create()

    assert lab.drift() == {}
    assert lab.everything() == before
    if lose is _lose_the_bucket:
        kept = lab.cloud.client("s3").get_object(Bucket="lab-lake", Key="warehouse/orders/data.parquet")
        assert kept["Body"].read() == b"rows"


def _a_role(cloud: CloudAws) -> object:
    document = policy(trust("glue.amazonaws.com"))
    return cloud.client("iam").create_role(RoleName=WRITER, AssumeRolePolicyDocument=document)


def _a_bucket(cloud: CloudAws) -> object:
    cloud.client("s3").create_bucket(Bucket="lab-lake")
    return cloud.client("s3").put_object(Bucket="lab-lake", Key="theirs", Body=b"x")


def _anothers_bucket(cloud: CloudAws) -> object:
    return _a_bucket(CloudAws(cloud.url, "222222222222", "test"))


def _a_log_group(cloud: CloudAws) -> object:
    return cloud.client("logs").create_log_group(logGroupName="/frazil/lab")


def _a_database(cloud: CloudAws) -> object:
    return cloud.client("glue").create_database(DatabaseInput={"Name": "lab"})


@pytest.mark.parametrize(
    ("deed", "instead"),
    [
        (_a_role, {"aws": {"bucket": "lab-lake", "writer_role": "lab_writes"}}),
        (_a_bucket, {"aws": {"bucket": "lab-pond"}}),
        (_anothers_bucket, {"aws": {"bucket": "lab-pond"}}),
        (_a_log_group, {"name": "lab2"}),
        (_a_database, {"name": "lab2"}),
    ],
)
@pytest.mark.each_time("_a_bucket-instead1")
def test_what_is_somebody_elses_stays_and_another_name_goes_through(
    lab: MadeAtAws, deed: Deed, instead: dict[str, Any]
) -> None:
    """ "Delete it" was said of a log group of theirs; what was made under the first name stayed, and cost."""
    deed(lab.cloud)
    theirs = lab.everything()
    with pytest.raises(ConfigureError) as raised:
        lab.create()
    if "name" in instead:
        assert "`frazil deploy delete` removes what was made" in raised.value.todo
        lab.destroy()
    lab.document = {**LAB, **instead}
    lab.create()

    assert lab.drift() == {}
    lab.destroy()
    assert lab.everything() == theirs


@pytest.fixture
def kept(aws: CloudAws, confluent: CloudConfluent) -> Deployed:
    """A deployment that is made, with its secrets in Secrets Manager."""
    store: Any = SecretsManager(Aws(aws.settings))
    spec = {"name": "lab", "confluent": {"topics": [{"name": "trades"}]}, "aws": {"bucket": "lab-lake"}}
    deployed = Deployed(confluent, spec, store=store)
    deployed.create()
    return deployed


@pytest.mark.each_time("the version before")
@pytest.mark.parametrize("way", ["the version before", "deleted"])
def test_a_secret_that_is_no_json_is_brought_back_or_deleted_and_made_anew(
    kept: Deployed, aws: CloudAws, way: str
) -> None:
    name, api = kept.spec.names.secret("app_consumer"), aws.client("secretsmanager")
    before = kept.store.get(name)
    api.put_secret_value(SecretId=name, SecretString="not { json")
    with pytest.raises(ConfigureError, match="no JSON object") as raised:
        kept.create()
    assert "AWSPREVIOUS" in raised.value.todo
    assert "If the deployment made it" in raised.value.todo  # the administrator's is made by nobody

    if way == "deleted":
        api.delete_secret(SecretId=name)
    else:
        good = api.get_secret_value(SecretId=name, VersionStage="AWSPREVIOUS")["SecretString"]
        api.put_secret_value(SecretId=name, SecretString=good)
    kept.create()

    assert kept.reconciler().plan().news == ()
    assert not any(kept.reconciler().verify().values())
    assert (kept.store.get(name) == before) is (way == "the version before")


def _without_a_field(kept: Deployed, cloud: CloudAws) -> None:
    name = kept.spec.names.secret("app_consumer")
    stored = {k: v for k, v in (kept.store.get(name) or {}).items() if k != "bootstrap.servers"}
    cloud.client("secretsmanager").put_secret_value(SecretId=name, SecretString=json.dumps(stored))


def _doomed(kept: Deployed, cloud: CloudAws) -> None:
    cloud.client("secretsmanager").delete_secret(SecretId=kept.spec.names.secret("app_consumer"))


def _gone(kept: Deployed, cloud: CloudAws) -> None:
    name = kept.spec.names.secret("schema_registry")
    cloud.client("secretsmanager").delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True)


@pytest.mark.parametrize("spoil", [_without_a_field, _doomed, _gone])
@pytest.mark.each_time("_gone")
def test_client_settings_that_lack_a_secret_are_mended_by_deploy_create(
    kept: Deployed, aws: CloudAws, spoil: Callable[[Deployed, CloudAws], None]
) -> None:
    us, names = Aws(aws.settings), kept.spec.names
    for number in range(2):
        name = f"{names.parameters}/consumer_kafka_client/p{number}"
        aws.client("ssm").put_parameter(Name=name, Value="x", Type="String")
    spoil(kept, aws)
    with pytest.raises(ClientSettingsError) as raised:
        client_settings(us, names, "consumer")
    assert raised.value.todo == "Run `frazil deploy create` to fix it."

    kept.create()

    assert client_settings(us, names, "consumer")["bootstrap.servers"]


def test_client_settings_that_aws_did_not_answer_for_are_read_by_the_next_try(
    kept: Deployed, aws: CloudAws
) -> None:
    us, names = Aws(aws.settings), kept.spec.names
    name = f"{names.parameters}/consumer_kafka_client/session.timeout.ms"
    aws.client("ssm").put_parameter(Name=name, Value="90000", Type="String")
    aws.turn(drop_every=1)
    with pytest.raises(ClientSettingsError) as raised:
        client_settings(us, names, "consumer")
    assert raised.value.todo == "Try again."

    aws.turn()

    assert client_settings(us, names, "consumer")["session.timeout.ms"] == "90000"


def test_who_gets_each_statement_that_an_error_names_takes_the_role_and_proves_it(lab: MadeAtAws) -> None:
    """The second of them was said to be for Frazil's role, and the person needs it."""
    lab.create()
    lab.aws = Aws(lab.cloud.user("somebody", allow("s3:ListAllMyBuckets")).settings)
    verify = next(each for each in lab.resources if each.address == "aws/writer_role").verify
    todos = []
    for number in range(2):
        with pytest.raises(NotAllowedError) as raised:
            verify({}, {})
        todos.append(raised.value.todo)
        needed = policy(json.loads(todos[-1][todos[-1].index("{") :]))
        put = lab.cloud.client("iam").put_user_policy
        put(UserName="somebody", PolicyName=f"as-told-{number}", PolicyDocument=needed)

    verify({}, {})
    assert todos[0].startswith("Its trust must name you, your policy needs")
    assert todos[1].startswith("Add to the caller's policy: ")


def test_a_right_that_the_writer_lacks_is_given_by_the_statement_that_the_error_names(lab: MadeAtAws) -> None:
    lab.create()
    verify = next(each for each in lab.resources if each.address == "aws/writer_role").verify
    iam, name = lab.cloud.client("iam"), "lab_s3_glue_access_policy"
    statements = iam.get_role_policy(RoleName=WRITER, PolicyName=name)["PolicyDocument"]["Statement"]
    left = [{**each, "Action": [a for a in each["Action"] if a != "s3:PutObject"]} for each in statements]
    iam.put_role_policy(RoleName=WRITER, PolicyName=name, PolicyDocument=policy(*left))
    with pytest.raises(NotAllowedError) as refused:
        verify({}, {})

    needed = json.loads(refused.value.todo.partition(": ")[2])
    iam.put_role_policy(RoleName=WRITER, PolicyName="as-told", PolicyDocument=policy(needed))

    verify({}, {})
    lab.create()  # what was given by hand is the deployment's right by then
    assert lab.failures() == {}
