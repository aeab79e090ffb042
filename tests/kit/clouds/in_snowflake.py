"""A deployment in AWS and Snowflake, without Kafka: what it is made of, and a table for it to show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import stamina
from pyiceberg.catalog import Catalog, load_catalog

from frazil.errors import FrazilError, PlanStaleError
from frazil.settings.profile import Settings
from frazil_cloud.aws.client import Aws
from frazil_cloud.aws.objects import objects as in_aws
from frazil_cloud.aws.secrets import SecretsManager
from frazil_cloud.clouds import Clouds
from frazil_cloud.key_pair import KeyPair
from frazil_cloud.reconciler import Reconciler
from frazil_cloud.resource import Known, Resource
from frazil_cloud.snowflake.client import Login, Snowflake
from frazil_cloud.snowflake.objects import objects as in_snowflake
from frazil_cloud.snowflake.removal import former
from frazil_cloud.spec.deployment import DeploymentSpec
from kit.clouds.cloud_aws import CloudAws
from kit.clouds.cloud_snowflake import CloudSnowflake

PATIENCE = 60.0
ROWS = pa.table({"symbol": ["ZTEST", "ZVV"], "price": [5, 7], "$$offset": [0, 1]})


def settings_of(standin: CloudSnowflake, user: str = "boss") -> Settings:
    """Where the stand-in is, and who somebody is there."""
    options = {
        "account": "frazil",
        "host": "127.0.0.1",
        "port": standin.port,
        "protocol": "http",
        "user": user,
    }
    return Settings().with_changes(snowflake=options)


class Heard(Snowflake):
    """An identity that keeps what it said."""

    def __init__(self, find: Callable[[], Login], seconds: int) -> None:
        super().__init__(find, seconds)
        self.statements = set[str]()

    def query(self, sql: str, *, role: str | None = None) -> list[tuple[Any, ...]]:
        self.statements.add(sql)
        return super().query(sql, role=role)

    def shown(self, sql: str, *, role: str | None = None) -> list[dict[str, Any]]:
        self.statements.add(sql)
        return super().shown(sql, role=role)


def administrator(
    standin: CloudSnowflake, user: str = "boss", key: bytes | None = None, seconds: int = 20
) -> Heard:
    """The stand-in's administrator, as deployments have it."""
    login = Login(settings_of(standin, user), key or standin.key.private_der)
    return Heard(lambda: login, seconds)


@dataclass
class InSnowflake:
    """The deployment, and the clouds that it is made in."""

    spec: DeploymentSpec
    aws: CloudAws
    standin: CloudSnowflake
    admin: Heard = field(repr=False)

    @property
    def clouds(self) -> Clouds:
        aws = Aws(self.aws.settings)
        return Clouds(aws, None, self.admin, SecretsManager(aws))

    @property
    def resources(self) -> dict[str, Resource]:
        resources = [*in_aws(self.spec, self.clouds), *in_snowflake(self.spec, self.clouds)]
        return {each.address: each for each in resources}

    @property
    def reconciler(self) -> Reconciler:
        had = partial(former, self.spec, self.clouds)
        return Reconciler(self.resources.values(), former=had, patience=PATIENCE, margin=2.0)

    def create(self) -> Known:
        """Makes what is missing, changes what differs, as --yes does: tables refresh while one looks."""
        for attempt in stamina.retry_context(on=PlanStaleError, attempts=5, wait_initial=0.5):
            with attempt:
                reconciler = self.reconciler
                return reconciler.apply(reconciler.plan())
        raise AssertionError("stamina ends by a result or by raising")

    def changes(self) -> dict[str, str]:
        """What a plan would do, by address."""
        return {
            step.address: str(step.action) for step in self.reconciler.plan().steps if step.action != "keep"
        }

    def faults(self) -> dict[str, FrazilError]:
        """What does not work, by address."""
        return {address: error for address, error in self.reconciler.verify().items() if error}

    def delete(self) -> None:
        """Removes everything."""
        reconciler = self.reconciler
        reconciler.destroy(reconciler.removal())

    def show(self, *tables: str) -> None:
        """Writes into the deployment which tables Snowflake shows."""
        assert self.spec.snowflake
        part = self.spec.snowflake.model_copy(update={"tables": tables})
        self.spec = self.spec.model_copy(update={"snowflake": part})

    def shown(self, name: str) -> str:
        """The full name of an object in its schema."""
        names = self.spec.names.snowflake
        return f"{names('DATABASE')}.{names('SCHEMA')}.{name.upper()}"

    @property
    def system_role(self) -> str:
        return self.spec.names.snowflake("SYSTEM_ADMIN_ROLE")

    def service(self) -> Snowflake:
        """The deployment's own user, with the key of its secret."""
        stored = self.clouds.secrets.get(self.spec.names.snowflake_secret) or {}
        pair = KeyPair.from_base64(stored[f"snowflake_rsa_private_key_{stored['active_key_number']}_pem"])
        return self.admin.as_user(stored["snowflake_service_user"], pair)

    def make_table(self, name: str) -> None:
        """An Iceberg table of two rows in the bucket, shown by Glue."""
        database = self.spec.names.glue_database
        where = f"s3://{self.spec.aws.bucket}/{self.spec.aws.folder}/{name}"
        self._glue().create_table(f"{database}.{name}", ROWS.schema, location=where).append(ROWS)

    def append(self, name: str) -> None:
        """Two more rows."""
        self._glue().load_table(f"{self.spec.names.glue_database}.{name}").append(ROWS)

    def as_owner(self, statement: str) -> None:
        """What whoever owns the tables may do by hand."""
        self.admin.query(statement, role=self.system_role)

    def _glue(self) -> Catalog:
        keys = {"access-key-id": self.aws.key, "secret-access-key": self.aws.secret, "region": "us-east-1"}
        options = {f"{part}.{name}": value for part in ("s3", "glue") for name, value in keys.items()}
        return load_catalog(
            "tests", type="glue", **options, **{"s3.endpoint": self.aws.url, "glue.endpoint": self.aws.url}
        )


@contextmanager
def in_snowflake_as(
    name: str, aws: CloudAws, standin: CloudSnowflake, **snowflake: Any
) -> Iterator[InSnowflake]:
    """A deployment of that name, of which nothing is made yet; what is left of it is removed."""
    bucket = {"bucket": name.replace("_", "-") + "-lake"}
    spec = DeploymentSpec.model_validate({"name": name, "aws": bucket, "snowflake": snowflake})
    admin = administrator(standin)
    try:
        yield InSnowflake(spec, aws, standin, admin)
    finally:
        admin.close()
