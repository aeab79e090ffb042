"""The circle of Confluent and AWS: Confluent really takes the customer's role for whatever needs it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from frazil.errors import CloudSlowError
from frazil_cloud.resource import Facts, Known
from kit.clouds.cloud_aws import ACCOUNT, CloudAws, allow, policy
from kit.clouds.cloud_confluent import CloudConfluent, Deployed, cloud_confluent

ROLE, BUCKET = "tableflow_s3_glue_role", "tableflow-lake"
ARN = f"arn:aws:iam::{ACCOUNT}:role/{ROLE}"
OBJECTS = ["s3:PutObject", "s3:GetObject", "s3:DeleteObject", "s3:AbortMultipartUpload"]
GLUE = ["glue:CreateDatabase", "glue:GetDatabase"]


@dataclass
class Writer:
    """The customer's role, as a user may have made it: with these rights, for this external id."""

    aws: CloudAws
    address: str = "aws/writer_role"
    needs: tuple[str, ...] = ("confluent/provider_integration",)
    fixed: frozenset[str] = frozenset()
    rights: list[str] = field(default_factory=lambda: OBJECTS + GLUE)
    external_id: str | None = None

    def wanted(self, known: Known) -> Facts:
        return {"there": True}

    def read(self, known: Known) -> Facts | None:
        roles = self.aws.client("iam").list_roles()["Roles"]
        return {"there": True} if ROLE in [role["RoleName"] for role in roles] else None

    def create(self, known: Known) -> None:
        integration = known["confluent/provider_integration"]
        external_id = self.external_id or integration["external_id"]
        party = {"Principal": {"AWS": integration["role_arn"]}}
        known_by = {"Condition": {"StringEquals": {"sts:ExternalId": external_id}}}
        take = {"Effect": "Allow", "Action": "sts:AssumeRole", **party, **known_by}
        mark = {"Effect": "Allow", "Action": "sts:TagSession", **party}
        iam = self.aws.client("iam")
        iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument=policy(take, mark))
        iam.put_role_policy(RoleName=ROLE, PolicyName="may", PolicyDocument=policy(allow(self.rights)))

    def update(self, there: Facts, known: Known) -> None: ...

    def verify(self, there: Facts, known: Known) -> None: ...

    def delete(self, there: Facts, known: Known) -> None:
        iam = self.aws.client("iam")
        iam.delete_role_policy(RoleName=ROLE, PolicyName="may")
        iam.delete_role(RoleName=ROLE)


@pytest.fixture
def trusting(aws: CloudAws) -> Iterator[CloudConfluent]:
    """An organization that leans on AWS, where there is a bucket."""
    aws.client("s3").create_bucket(Bucket=BUCKET)
    with cloud_confluent(aws.url) as confluent:
        yield confluent


def deployed(trusting: CloudConfluent, aws: CloudAws, **writer: Any) -> Deployed:
    return Deployed(trusting, given={"aws/writer_role": Writer(aws, **writer)})


def test_tableflow_runs_by_the_customers_role_and_lets_it_go_again(
    trusting: CloudConfluent, aws: CloudAws
) -> None:
    made = deployed(trusting, aws)
    known = made.create()
    assert known["confluent/provider_integration"]["customer_role"] == ARN
    cluster = known["confluent/cluster"]["id"]
    assert [d["Name"] for d in aws.client("glue").get_databases()["DatabaseList"]] == [cluster]
    assert not any(made.reconciler().verify().values())
    made.delete()
    assert trusting.inventory() == {}
    assert aws.client("iam").list_roles()["Roles"] == []


@pytest.mark.parametrize("right", ["s3:DeleteObject", "s3:GetObject", "s3:PutObject", "glue:CreateDatabase"])
@pytest.mark.each_time("s3:GetObject")
def test_a_right_that_the_role_lacks_is_named(trusting: CloudConfluent, aws: CloudAws, right: str) -> None:
    """Expiry deletes, which the source systems' policy does not allow (D19)."""
    made = deployed(trusting, aws, rights=[each for each in OBJECTS + GLUE if each != right])
    with pytest.raises(CloudSlowError, match=right):
        made.apply(patience=3.0)
    aws.client("iam").put_role_policy(
        RoleName=ROLE, PolicyName="may", PolicyDocument=policy(allow(OBJECTS + GLUE))
    )
    made.create()
    assert made.reconciler().plan().news == ()


@pytest.mark.nightly
def test_a_trust_for_another_external_id_is_told(trusting: CloudConfluent, aws: CloudAws) -> None:
    made = deployed(trusting, aws, external_id="another")
    with pytest.raises(CloudSlowError, match="sts:AssumeRole"):
        made.apply(patience=3.0)


def test_rights_that_somebody_removed_are_found_by_verify(trusting: CloudConfluent, aws: CloudAws) -> None:
    """The role itself is there, and so is all of Confluent's: only using it shows it."""
    made = deployed(trusting, aws)
    made.create()
    trusting.delay(prove_again=0.0)
    aws.client("iam").delete_role_policy(RoleName=ROLE, PolicyName="may")
    broken = made.reconciler(patience=1.0).verify()
    assert "s3:PutObject" in str(broken["confluent/tableflow/stock_trades"])
    assert "glue:CreateDatabase" in str(broken["confluent/glue_sync"])
