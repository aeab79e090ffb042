"""A deployment's objects in Snowflake, by the names and shapes of the source systems."""

from __future__ import annotations

from functools import partial
from typing import Any

from frazil_cloud.aws.client import GoneError
from frazil_cloud.clouds import Clouds
from frazil_cloud.confluent.tableflow import status_text
from frazil_cloud.resource import Known, Resource
from frazil_cloud.snowflake.account import Database, Role, Schema, Warehouse
from frazil_cloud.snowflake.freshness import Metadata, Pointer, read_by
from frazil_cloud.snowflake.ownership import OBJECTS
from frazil_cloud.snowflake.rest_catalog import RestCatalog
from frazil_cloud.snowflake.rights.grants import ADMINISTRATOR, Grants
from frazil_cloud.snowflake.rights.present import Grant
from frazil_cloud.snowflake.rights.user import Keys, ServiceUser
from frazil_cloud.snowflake.tables import IcebergTable, View
from frazil_cloud.snowflake.trust import GlueRest, Integration, Volume
from frazil_cloud.spec.deployment import DeploymentSpec
from frazil_cloud.spec.snowflake import SnowflakePart

_VOLUME, _INTEGRATION = "snowflake/volume", "snowflake/catalog_integration"
_REST = f"{_INTEGRATION}/rest"
_SECURITY, _SYSTEM = "snowflake/role/security", "snowflake/role/system"


def objects(spec: DeploymentSpec, clouds: Clouds) -> list[Resource]:
    """All of them, in no order; none if the deployment has no part in Snowflake."""
    return _Objects(spec, spec.snowflake, clouds).all() if spec.snowflake else []


class _Objects:
    def __init__(self, spec: DeploymentSpec, part: SnowflakePart, clouds: Clouds) -> None:
        self._spec, self._part, self._clouds = spec, part, clouds
        self._name = spec.names.snowflake
        self._schema = (self._name("DATABASE"), self._name("SCHEMA"))
        self._system, self._security = self._name("SYSTEM_ADMIN_ROLE"), self._name("SECURITY_ADMIN_ROLE")
        self._keys = Keys(
            clouds.secrets, spec.names.snowflake_secret, self._name("USER"), {"frazil": spec.name}
        )

    def all(self) -> list[Resource]:
        grants = self._grants()
        tables = [each for name in self._part.tables for each in self._shown(name, grants)]
        return [*self._account(), *self._trusts(), *self._rest(), *grants, *tables]

    def _account(self) -> list[Resource]:
        part, ours, at = self._part, (self._clouds.snowflake, self._spec.mark), "snowflake"
        # Tables read through volume and integration, and go with the database: it goes first.
        return [
            Role(*ours, (self._security,), _SECURITY),
            Role(*ours, (self._system,), _SYSTEM),
            Warehouse(
                *ours, (self._name("WAREHOUSE"),), f"{at}/warehouse",
                size=part.size, auto_suspend=int(part.auto_suspend.total_seconds()),
            ),
            Database(*ours, self._schema[:1], f"{at}/database", self._read_through),
            Schema(*ours, self._schema, f"{at}/schema", (f"{at}/database",)),
            ServiceUser(*ours, (self._keys.user,), f"{at}/user", keys=self._keys, defaults=self._defaults),
        ]  # fmt: skip

    @property
    def _read_through(self) -> tuple[str, ...]:
        return (_VOLUME, _INTEGRATION, *((_REST,) if self._part.rest else ()))

    @property
    def _defaults(self) -> dict[str, str]:
        return {
            "default_role": self._system,
            "default_warehouse": self._name("WAREHOUSE"),
            "default_namespace": ".".join(self._schema),
        }

    def _trusts(self) -> list[Resource]:
        ours: tuple[Any, str] = (self._clouds.snowflake, self._spec.mark)
        kind = GlueRest if self._part.catalog == "glue_rest" else Integration
        needs = ("confluent/cluster",) if self._tableflow else ()
        return [
            Volume(
                *ours, (self._name("VOLUME"),), _VOLUME, ("aws/bucket",),  # it goes after all that reads it
                base_url=f"s3://{self._spec.aws.bucket}/", role_arn=self._reader,
            ),
            kind(
                *ours, (self._name("CATALOG_INTEGRATION"),), _INTEGRATION, needs,
                namespace=partial(self._namespace, bool(self._tableflow)), role_arn=self._reader,
                region=self._spec.region, account=lambda: str(self._clouds.aws.account),
                refresh=self._refresh,
            ),
        ]  # fmt: skip

    def _rest(self) -> list[Resource]:
        if (rest := self._part.rest) is None:
            return []
        catalog = RestCatalog(
            self._clouds.snowflake, self._spec.mark, (self._name("REST_CATALOG_INTEGRATION"),), _REST,
            uri=rest.uri, warehouse=rest.warehouse, namespace=rest.namespace, secret=rest.secret,
            secrets=self._clouds.secrets, scopes=rest.scopes, refresh=self._refresh,
        )  # fmt: skip
        return [catalog]

    def _grants(self) -> tuple[Grants, ...]:
        database, roles = self._schema[:1], (_SECURITY, _SYSTEM)
        of_roles = tuple(Grant("USAGE", "ROLE", (each,)) for each in (self._security, self._system))
        of_system: tuple[Grant, ...] = (
            Grant("USAGE", "WAREHOUSE", (self._name("WAREHOUSE"),)),
            Grant("USAGE", "DATABASE", database),
            Grant("CREATE SCHEMA", "DATABASE", database),
            Grant("USAGE", "SCHEMA", self._schema),
            Grant("CREATE ICEBERG TABLE", "SCHEMA", self._schema),
            Grant("CREATE VIEW", "SCHEMA", self._schema),
            Grant("USAGE", "EXTERNAL VOLUME", (self._name("VOLUME"),)),
            Grant("USAGE", "INTEGRATION", (self._name("CATALOG_INTEGRATION"),)),
        )
        if self._part.rest:
            of_system += (Grant("USAGE", "INTEGRATION", (self._name("REST_CATALOG_INTEGRATION"),)),)
        used = ("snowflake/warehouse", "snowflake/schema", *self._read_through)
        user, at = self._keys.user, self._clouds.snowflake
        holders = (("ROLE", OBJECTS), ("USER", user))
        # What a role owns that is not granted to SYSADMIN, no administrator can change.
        return (
            Grants(at, ADMINISTRATOR, roles, "ROLE", OBJECTS, of_roles),
            Grants(at, "snowflake/grants/user", ("snowflake/user", *roles), "USER", user, of_roles),
            Grants(
                at, "snowflake/grants/security", ("snowflake/user", _SECURITY), "ROLE", self._security,
                (Grant("MONITOR", "USER", (user,)),), database[0], holders,
            ),
            Grants(
                at, "snowflake/grants/system", (*used, _SYSTEM), "ROLE", self._system, of_system, database[0],
                holders,
            ),
        )  # fmt: skip

    def _shown(self, name: str, grants: tuple[Grants, ...]) -> list[Resource]:
        by_tableflow = name in self._tableflow
        needs = ("aws/reader_role", *(each.address for each in grants))
        ways = ("confluent/cluster", "confluent/glue_sync", f"confluent/tableflow/{name}")
        ours: Any = {"owner": self._system, "grants": grants, "keys": self._keys}
        table = IcebergTable(
            self._clouds.snowflake, self._spec.mark, (*self._schema, name.upper()), f"snowflake/table/{name}",
            (*needs, *(ways if by_tableflow else ())), volume=self._name("VOLUME"),
            integration=self._name("CATALOG_INTEGRATION"), namespace=partial(self._namespace, by_tableflow),
            table=name, pointer=self._pointer, metadata=self._metadata, maker=partial(self._maker, name),
            refresh=self._refresh, **ours,
        )  # fmt: skip
        if not self._part.views:
            return [table]
        view = (*self._schema, self._spec.names.view(name))
        at = f"snowflake/view/{name}"
        shown = View(self._clouds.snowflake, self._spec.mark, view, at, (table.address,), of=table, **ours)
        return [table, shown]

    @property
    def _tableflow(self) -> tuple[str, ...]:
        return self._spec.confluent.tableflow if self._spec.confluent else ()

    def _namespace(self, by_tableflow: bool, known: Known) -> str:
        """Tableflow names Glue's database as the cluster's id."""
        return str(known["confluent/cluster"]["id"]) if by_tableflow else self._spec.names.glue_database

    @property
    def _refresh(self) -> int:
        return int(self._part.refresh.total_seconds())

    def _pointer(self, database: str, table: str) -> Pointer | None:
        """What Glue shows of a table."""
        try:
            entry = self._clouds.aws.client("glue").get_table(DatabaseName=database, Name=table)["Table"]
        except GoneError:
            return None
        return Pointer(str(entry.get("Parameters", {}).get("metadata_location")), entry["UpdateTime"])

    def _metadata(self, location: str) -> Metadata | None:
        return read_by(self._clouds.aws.client("s3"))(location)

    def _maker(self, name: str, known: Known) -> str:
        if name in self._tableflow:
            return status_text(name, self._clouds.confluent, self._clouds.secrets, known)
        return "a landing makes it (`frazil land`)"

    def _reader(self) -> str:
        return f"arn:aws:iam::{self._clouds.aws.account}:role/{self._spec.names.reader_role}"
