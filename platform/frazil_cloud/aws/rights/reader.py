"""The role that Snowflake takes: it reads what the deployment's tables are made of, and writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from frazil_cloud.aws.rights.policies import Statement, allow, trust
from frazil_cloud.aws.rights.role import Role
from frazil_cloud.aws.rights.writer import glue_resources, has_tableflow
from frazil_cloud.resource import Facts, Known

_OBJECTS = ("s3:GetObject", "s3:GetObjectVersion")
_GLUE = (
    "glue:GetCatalog", "glue:GetDatabase", "glue:GetDatabases", "glue:GetTable", "glue:GetTables",
)  # fmt: skip
_PARTIES = ("snowflake/volume", "snowflake/catalog_integration")
_CLUSTER = "confluent/cluster"


@dataclass(frozen=True)
class ReaderRole(Role):
    """`aws/reader_role`."""

    address: str = "aws/reader_role"

    @property
    def needs(self) -> tuple[str, ...]:
        """Snowflake's two halves of the trust, and where Tableflow puts its tables."""
        return (*_PARTIES, *((_CLUSTER, *self._topics) if has_tableflow(self) else ()))

    @property
    def name(self) -> str:
        """As volume and integration name it before it exists."""
        return self.spec.names.reader_role

    @property
    def policy(self) -> str:
        """Name of its policy."""
        return self.spec.names.reader_policy

    def trust(self, known: Known) -> Sequence[Statement]:
        """The user of the volume and the one of the integration: they are two, each with its external id."""
        theirs = [known[address] for address in _PARTIES]
        return [
            trust({"AWS": str(each["iam_user_arn"])}, external_id=str(each["external_id"])) for each in theirs
        ]

    def rights(self, known: Known) -> Sequence[Statement]:
        """The folders of the tables, and their entries in Glue."""
        bucket, folders = f"arn:aws:s3:::{self.spec.aws.bucket}", self._folders(known)
        lists = {"StringLike": {"s3:prefix": [each for f in folders for each in (f, f"{f}/*")]}}
        databases = [self.spec.names.glue_database]
        if has_tableflow(self):
            databases.append(str(known[_CLUSTER]["id"]))
        return [
            allow(_OBJECTS, [f"{bucket}/{each}/*" for each in folders]),
            allow(["s3:ListBucket"], [bucket], lists),
            allow(["s3:GetBucketLocation"], [bucket]),
            allow(_GLUE, glue_resources(self.aws, databases)),
        ]

    def verify(self, there: Facts, known: Known) -> None:
        """Only Snowflake can take the role: its volume and integration prove it."""

    @property
    def _topics(self) -> tuple[str, ...]:
        topics = self.spec.confluent.tableflow if self.spec.confluent else ()
        return tuple(f"confluent/tableflow/{topic}" for topic in topics)

    def _folders(self, known: Known) -> list[str]:
        """Frazil's folder, and what Tableflow's tables have in common: the part of their path before `v1`."""
        paths = [str(known[address]["table_path"]) for address in self._topics]
        theirs = {key.partition("/v1/")[0] for path in paths for key in _keys(path)}
        return [self.spec.aws.folder, *sorted(theirs)]


def _keys(path: str) -> set[str]:
    """How keys begin, from `s3://bucket/path`: where Tableflow tells `//`, they may have both or one."""
    key = path.removeprefix("s3://").partition("/")[2]
    return {key, "/".join(filter(None, key.split("/")))}
