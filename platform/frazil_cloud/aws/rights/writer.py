"""The role that writes the tables: Frazil's own, and Tableflow's where Tableflow writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from frazil_cloud.aws.client import Aws
from frazil_cloud.aws.proof import try_clients, try_objects, try_tables
from frazil_cloud.aws.rights.policies import Statement, allow, trust
from frazil_cloud.aws.rights.role import Role
from frazil_cloud.resource import Facts, Known

_OBJECTS = (
    "s3:GetObject",
    "s3:PutObject",
    "s3:PutObjectTagging",
    "s3:DeleteObject",  # expiry deletes what no snapshot names any more (D19)
    "s3:AbortMultipartUpload",
    "s3:ListMultipartUploadParts",
)
_BUCKET = ("s3:GetBucketLocation", "s3:ListBucket", "s3:ListBucketMultipartUploads")
_GLUE = (
    "glue:CreateDatabase", "glue:GetDatabase", "glue:GetDatabases",
    "glue:CreateTable", "glue:GetTable", "glue:GetTables", "glue:UpdateTable", "glue:DeleteTable",
)  # fmt: skip
_GLUE_OF_TABLEFLOW = (
    "glue:UpdateDatabase", "glue:DeleteDatabase", "glue:GetTableVersion", "glue:GetTableVersions",
)  # fmt: skip
"""What the source systems grant Tableflow besides: in its own database alone."""
_INTEGRATION = "confluent/provider_integration"
_CLUSTER = "confluent/cluster"


@dataclass(frozen=True)
class WriterRole(Role):
    """`aws/writer_role`: in the bucket and in the databases of the deployment, and nowhere else."""

    address: str = "aws/writer_role"

    @property
    def needs(self) -> tuple[str, ...]:
        """Confluent's half of the trust, where Tableflow writes."""
        return (_INTEGRATION, _CLUSTER) if has_tableflow(self) else ()

    @property
    def name(self) -> str:
        """As the integration and others name it before it exists."""
        return self.spec.names.writer_role

    @property
    def policy(self) -> str:
        """Name of its policy."""
        return self.spec.names.writer_policy

    def trust(self, known: Known) -> Sequence[Statement]:
        """Confluent with its external id, principals of this account whose own policy says so, and Glue."""
        ours = trust({"AWS": f"arn:aws:iam::{self.aws.account}:root"})
        return [*self._confluent(known), ours, trust({"Service": "glue.amazonaws.com"})]

    def own_trust(self) -> Sequence[Statement]:
        """Confluent's role takes this one and then this one again (D3)."""
        return [trust({"AWS": self.arn})]

    def rights(self, known: Known) -> Sequence[Statement]:
        """Objects of the bucket, tables of the databases; secrets and parameters only of what Frazil runs."""
        bucket, prefix = (
            f"arn:aws:s3:::{self.spec.aws.bucket}",
            "" if has_tableflow(self) else self.spec.aws.folder + "/",
        )
        return [
            allow(_BUCKET, [bucket]),
            allow(_OBJECTS, [f"{bucket}/{prefix}*"]),
            allow(_GLUE, glue_resources(self.aws, self._databases(known))),
            *(
                [allow(_GLUE_OF_TABLEFLOW, glue_resources(self.aws, [str(known[_CLUSTER]["id"])]))]
                if has_tableflow(self)
                else []
            ),
            allow(["sts:AssumeRole"], [self.arn]),
            *([] if has_tableflow(self) else self._clients()),
        ]

    def verify(self, there: Facts, known: Known) -> None:
        """Takes the role, and uses each kind of right."""
        with self.lateness.borne():
            us, names = self.taken(self.aws), self.spec.names
            try_objects(us.client("s3"), self.spec.aws.bucket, self.spec.aws.folder)
            try_tables(us.client("glue"), names.glue_database)
            self.taken(us)
            if not has_tableflow(self):
                try_clients(us.client("secretsmanager"), us.client("ssm"), self._secrets(), names.parameters)

    def _secrets(self) -> list[str]:
        """The secrets that are there: of others nobody can say whether the role may read them."""
        names = (self.spec.names.parameters, self.spec.names.snowflake_secret)
        pages = self.aws.client("secretsmanager").pages(
            "list_secrets", Filters=[{"Key": "name", "Values": list(names)}]
        )
        return [
            each["Name"] for page in pages for each in page["SecretList"] if each["Name"].startswith(names)
        ]

    def _confluent(self, known: Known) -> list[Statement]:
        if not has_tableflow(self):
            return []
        theirs = known[_INTEGRATION]
        who = {"AWS": str(theirs["role_arn"])}
        return [trust(who, external_id=str(theirs["external_id"])), trust(who, "sts:TagSession")]

    def _databases(self, known: Known) -> list[str]:
        """Frazil's own, and Tableflow's, which is named as the cluster's id."""
        theirs = [str(known[_CLUSTER]["id"])] if has_tableflow(self) else []
        return [self.spec.names.glue_database, *theirs]

    def _clients(self) -> list[Statement]:
        """What landings log in with. Confluent, which takes the role beside Frazil, must not read it."""
        here, names = f"{self.aws.region}:{self.aws.account}", self.spec.names
        places = (f"{names.parameters}/*", f"{names.snowflake_secret}-*")
        return [
            allow(
                ["secretsmanager:GetSecretValue"],
                [f"arn:aws:secretsmanager:{here}:secret:{each}" for each in places],
            ),
            allow(
                ["ssm:GetParametersByPath"],
                [f"arn:aws:ssm:{here}:parameter{names.parameters}{end}" for end in ("", "/*")],
            ),
        ]


def has_tableflow(role: Role) -> bool:
    """Whether Tableflow writes tables of the deployment."""
    return bool(role.spec.confluent and role.spec.confluent.tableflow)


def glue_resources(aws: Aws, databases: Sequence[str]) -> list[str]:
    """The catalog, and databases with their tables: Glue asks for the right on all three."""
    here = f"arn:aws:glue:{aws.region}:{aws.account}"
    inside = [f"{here}:{each}" for name in databases for each in (f"database/{name}", f"table/{name}/*")]
    return [f"{here}:catalog", *inside]
