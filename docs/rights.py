"""The rights on docs/permissions.md: those of a deployment, which gives, uses and proves each of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

from frazil_cloud.aws.rights.policies import document
from frazil_cloud.aws.rights.reader import ReaderRole
from frazil_cloud.aws.rights.writer import WriterRole
from frazil_cloud.snowflake.objects import objects
from frazil_cloud.snowflake.rights.grants import Grants
from frazil_cloud.spec.deployment import DeploymentSpec

_SPEC = DeploymentSpec.model_validate(
    {
        "name": "shop",
        "region": "eu-central-1",
        "aws": {"bucket": "shop-lake", "folder": "lake"},
        "snowflake": {},
    }
)
_AWS = cast("Any", SimpleNamespace(account="123456789012", region="eu-central-1"))
_USERS = {
    f"snowflake/{object_}": {"iam_user_arn": "arn:aws:iam::210987654321:user/sf", "external_id": "SHOP_1"}
    for object_ in ("volume", "catalog_integration")
}
_ONLY_IN_A_DEPLOYMENT = ("sts:", "secretsmanager:", "ssm:")


def writer_policy() -> Iterator[str]:
    """What landings and upkeep need of S3 and Glue."""
    rights = WriterRole(_AWS, _SPEC).rights({})
    yield from _policy([each for each in rights if not each["Action"][0].startswith(_ONLY_IN_A_DEPLOYMENT)])


def reader_policy() -> Iterator[str]:
    """What Snowflake needs of S3 and Glue."""
    yield from _policy(ReaderRole(_AWS, _SPEC).rights(_USERS))


def reader_trust() -> Iterator[str]:
    """Who may take the reader's role."""
    yield from _policy(ReaderRole(_AWS, _SPEC).trust(_USERS)[:1])


def snowflake_grants() -> Iterator[str]:
    """What the role of the service user needs."""
    clouds = SimpleNamespace(aws=_AWS, confluent=None, snowflake=None, secrets=None, adopts=False)
    (role,) = (
        each
        for each in objects(_SPEC, cast("Any", clouds))
        if isinstance(each, Grants) and each.address == "snowflake/grants/system"
    )
    yield from ("", "```sql", *(f"{role.statement(grant)};" for grant in role.grants), "```", "")


def _policy(statements: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from ("", "```json", json.dumps(json.loads(document(statements)), indent=2), "```", "")


RIGHTS: Mapping[str, Callable[[], Iterator[str]]] = {
    "policy writer": writer_policy,
    "policy reader": reader_policy,
    "trust reader": reader_trust,
    "grants snowflake": snowflake_grants,
}
"""The regions of the page."""
