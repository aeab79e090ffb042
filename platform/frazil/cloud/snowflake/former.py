"""What a deployment had in Snowflake, and has no more: tables and views in its schema that bear its mark."""

from __future__ import annotations

from frazil.cloud.clouds import Clouds
from frazil.cloud.resource import Known, Resource
from frazil.cloud.snowflake.marked import ACCOUNT, Marked
from frazil.cloud.snowflake.objects import objects
from frazil.quoting import double_quoted
from frazil.spec.deployment import DeploymentSpec


def former(spec: DeploymentSpec, clouds: Clouds, known: Known) -> list[Resource]:
    """Tables that the deployment no longer shows. Those of landings bear no mark, and stay."""
    if spec.snowflake is None or "snowflake/schema" not in known:
        return []
    schema = double_quoted(*known["snowflake/schema"]["name"].split("."))

    def marked(kind: str) -> dict[str, dict[str, object]]:
        rows = clouds.snowflake.shown(f"SHOW {kind}S IN SCHEMA {schema}", role=ACCOUNT)
        return {row["name"]: row for row in rows if row.get("comment") == spec.mark}

    tables = marked("ICEBERG TABLE")
    named = {name.upper() for name in spec.snowflake.tables}
    more = [str(row["catalog_table_name"]) for name, row in tables.items() if name not in named]
    wider = spec.snowflake.model_copy(update={"tables": (*spec.snowflake.tables, *more), "views": True})
    own = {each.address for each in objects(spec, clouds)}
    there = {*tables, *marked("VIEW")}
    return [
        each
        for each in objects(spec.model_copy(update={"snowflake": wider}), clouds)
        if each.address not in own and isinstance(each, Marked) and each.name[-1] in there
    ]
