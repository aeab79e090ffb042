"""What a deployment had in Snowflake, and has no more: found by the mark in its comment."""

from __future__ import annotations

from frazil.quoting import double_quoted
from frazil_cloud.clouds import Clouds
from frazil_cloud.resource import Known, Resource
from frazil_cloud.snowflake.account import Warehouse
from frazil_cloud.snowflake.objects import objects
from frazil_cloud.snowflake.ownership import ACCOUNT, Marked
from frazil_cloud.snowflake.rest_catalog import RestCatalog
from frazil_cloud.spec.deployment import DeploymentSpec
from frazil_cloud.spec.snowflake import RestCatalogPart, SnowflakePart

_REST = RestCatalogPart(
    uri="http://none",
    warehouse="none",
    namespace="none",
    secret="none",  # noqa: S106  # names no secret
)


def former(spec: DeploymentSpec, clouds: Clouds, known: Known) -> list[Resource]:
    """Tables and views that the deployment no longer shows, warehouses of another name, the other catalog.

    What landings made bears no mark, and stays.
    """
    if spec.snowflake is None or "snowflake/schema" not in known:
        return []
    former_objects = _Former(spec, spec.snowflake, clouds)
    return [
        *former_objects.tables(*known["snowflake/schema"]["name"].split(".")),
        *former_objects.of_account(),
    ]


class _Former:
    def __init__(self, spec: DeploymentSpec, part: SnowflakePart, clouds: Clouds) -> None:
        self._spec, self._part, self._clouds = spec, part, clouds
        self._own = {each.address for each in objects(spec, clouds)}

    def tables(self, *schema: str) -> list[Resource]:
        inside = f" IN SCHEMA {double_quoted(*schema)}"
        tables = self._marked("ICEBERG TABLES", inside)
        named = {name.upper() for name in self._part.tables}
        more = [str(row["catalog_table_name"]) for name, row in tables.items() if name not in named]
        there = {*tables, *self._marked("VIEWS", inside)}
        wider = self._wider(tables=(*self._part.tables, *more), views=True)
        return [each for each in wider if each.name[-1] in there]

    def of_account(self) -> list[Resource]:
        """A catalog is asked for by its only name; nobody knows the former one of a warehouse."""
        integrations = self._marked("CATALOG INTEGRATIONS")
        rest = [
            each
            for each in self._wider(rest=self._part.rest or _REST)
            if isinstance(each, RestCatalog) and each.name[-1] in integrations
        ]
        wanted = self._spec.names.snowflake("WAREHOUSE")
        former = [name for name in self._marked("WAREHOUSES") if name != wanted]
        ours = (self._clouds.snowflake, self._spec.mark)
        return [*rest, *(Warehouse(*ours, (name,), f"snowflake/warehouse/{name}") for name in former)]

    def _wider(self, **more: object) -> list[Marked]:
        """The objects that there would be besides, if this were in the file."""
        wider = self._spec.model_copy(update={"snowflake": self._part.model_copy(update=more)})
        resources = objects(wider, self._clouds)
        return [each for each in resources if isinstance(each, Marked) and each.address not in self._own]

    def _marked(self, kind: str, inside: str = "") -> dict[str, dict[str, object]]:
        rows = self._clouds.snowflake.shown(f"SHOW {kind}{inside}", role=ACCOUNT)
        return {row["name"]: row for row in rows if row.get("comment") == self._spec.mark}
