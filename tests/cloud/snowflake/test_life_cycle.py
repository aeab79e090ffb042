"""A deployment's objects in Snowflake: made, proved by use, found again when they drift, removed twice.

One deployment serves all tests of this file: each leaves it as it was, and the last removes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from frazil.errors import ConfigureError, NotAllowedError
from frazil_cloud.plan import differences
from frazil_cloud.resource import RefusedYet
from frazil_cloud.snowflake.ownership import Marked
from frazil_cloud.snowflake.rights.grants import Grants
from frazil_cloud.snowflake.tables import View
from kit.clouds.in_snowflake import InSnowflake
from kit.runs.waiting import wait_for

Deployments = Callable[..., InSnowflake]
DOCS = Path(__file__).parents[3] / "docs" / "design" / "clouds.md"
VERBS = {"CREATE", "ALTER", "DROP", "SHOW", "DESC", "GRANT", "REVOKE", "SELECT"}


def test_it_is_made_and_works_and_a_second_plan_is_empty(made: InSnowflake) -> None:
    assert made.changes() == {}
    assert made.faults() == {}


def test_the_service_user_reads_the_table_and_the_view_without_metadata(made: InSnowflake) -> None:
    service = made.service()
    table, view = made.shown("trades"), made.shown(made.spec.names.view("trades"))

    assert service.query(f"select * from {table} order by 2") == [("ZTEST", 5, 0), ("ZVV", 7, 1)]
    assert service.query(f"select * from {view} order by 2") == [("ZTEST", 5), ("ZVV", 7)]
    service.close()


def test_the_secret_names_the_user_that_is_there(made: InSnowflake) -> None:
    stored = made.clouds.secrets.get(made.spec.names.snowflake_secret) or {}

    assert stored["snowflake_service_user"] == made.spec.names.snowflake("USER")
    assert stored["active_key_number"] == "1"
    assert made.admin.shown(f"show users like '{stored['snowflake_service_user']}'")[0]["type"] == "SERVICE"


@pytest.mark.each_time("False")
@pytest.mark.parametrize("specific", [False, True])
def test_grants_are_known_by_the_words_of_either_bundle(made: InSnowflake, specific: bool) -> None:
    made.standin.turn(more={"specific_kinds": specific})

    changes = made.changes()
    made.standin.turn()

    assert changes == {}


def test_each_missing_grant_is_found_and_named_by_the_statement_that_gives_it(made: InSnowflake) -> None:
    for grants in (each for each in made.resources.values() if isinstance(each, Grants)):
        for grant in grants.grants:
            made.standin.as_("SECURITYADMIN", f"REVOKE {grant.what} FROM {grants.to_kind} {grants.to_name}")
            present = grants.read({}) or {}
            missing = [change.field for change in differences(grants.wanted({}), present)]
            assert grants.statement(grant) in missing
            with pytest.raises(NotAllowedError) as named:
                grants.verify(present or dict.fromkeys(missing, "missing"), {})
            assert f"{grants.statement(grant)};" in named.value.todo
            made.standin.as_("SECURITYADMIN", grants.statement(grant))

    assert made.changes() == {}


def test_a_refused_query_names_the_grant_that_is_missing(made: InSnowflake) -> None:
    role, schema = made.spec.names.snowflake("SYSTEM_ADMIN_ROLE"), made.shown("").rstrip(".")
    made.standin.as_("SECURITYADMIN", f"revoke usage on schema {schema} from role {role}")
    table = made.resources["snowflake/table/trades"]

    with pytest.raises(NotAllowedError) as refused:
        table.verify({}, made.reconciler.facts())
    made.create()

    assert (
        refused.value.todo
        == f'GRANT USAGE ON SCHEMA "{schema.replace(".", chr(34) + "." + chr(34))}" TO ROLE "{role}";'
    )


def test_an_object_that_lost_its_comment_is_given_it_by_the_statement_that_the_error_names(
    made: InSnowflake,
) -> None:
    """ "Give the deployment another name" alone would have made all of it a second time."""
    owned = [each for each in made.resources.values() if isinstance(each, Marked) and each.its_own]
    assert len(owned) > 5
    for one in owned:
        made.standin.as_(one.role, f"alter {one} set comment = 'of nobody'")
        with pytest.raises(ConfigureError, match="is not of this deployment") as raised:
            one.read({})
        statement = raised.value.todo.partition("If it is its own: ")[2]
        made.standin.as_(one.role, statement.rstrip(";"))

    assert "snowflake/warehouse" not in made.changes()
    assert made.faults() == {}


def test_somebody_else_s_object_of_that_name_is_neither_taken_over_nor_dropped(
    deployment: Deployments,
) -> None:
    shop = deployment()
    name = shop.spec.names.snowflake("WAREHOUSE")
    shop.standin.as_("SYSADMIN", f"create warehouse {name} comment = 'of others'")

    with pytest.raises(ConfigureError, match="not of this deployment"):
        shop.reconciler.plan()

    assert shop.admin.shown(f"show warehouses like '{name}'", role="SYSADMIN")[0]["comment"] == "of others"
    shop.standin.as_("SYSADMIN", f"drop warehouse {name}")


@pytest.mark.nightly
def test_a_table_that_was_taken_out_goes_with_its_view_and_that_of_a_landing_stays(made: InSnowflake) -> None:
    table, landed = made.shown("trades"), made.shown("LANDED")
    made.admin.query(f"create view {landed} as select * from {table}", role=made.system_role)
    made.show()

    planned = made.changes()
    made.create()

    assert planned == {"snowflake/view/trades": "delete", "snowflake/table/trades": "delete"}
    assert made.changes() == {}
    schema = made.shown("").rstrip(".")
    left = made.admin.shown(f"show views in schema {schema}", role="ACCOUNTADMIN")
    assert [row["name"] for row in left] == ["LANDED"]
    assert made.admin.shown(f"show iceberg tables in schema {schema}", role="ACCOUNTADMIN") == []


@pytest.mark.nightly
def test_a_warehouse_that_got_another_name_is_removed(made: InSnowflake) -> None:
    assert made.spec.snowflake
    before, another = made.spec, f"{made.spec.name}_more".upper()
    part = made.spec.snowflake.model_copy(update={"warehouse": another})
    made.spec = made.spec.model_copy(update={"snowflake": part})

    planned = made.changes()
    made.create()

    former = before.names.snowflake("WAREHOUSE")
    assert planned[f"snowflake/warehouse/{former}"] == "delete"
    assert made.changes() == {}
    assert made.admin.shown(f"show warehouses like '{former}'", role="ACCOUNTADMIN") == []


@pytest.mark.nightly
def test_the_table_follows_glue_by_itself_and_one_that_stays_behind_is_named(made: InSnowflake) -> None:
    made.show("trades")
    made.create()
    table, shown = made.resources["snowflake/table/trades"], made.shown("trades")
    made.append("trades")
    wait_for(lambda: len(made.service().query(f"select * from {shown}")) == 4)

    made.as_owner(f"alter iceberg table {shown} set auto_refresh = false")
    made.append("trades")
    behind = replace(table, refresh=0)  # type: ignore[type-var]
    with pytest.raises(RefusedYet, match="is behind Glue"):
        behind.verify({}, made.reconciler.facts())
    assert made.changes() == {"snowflake/table/trades": "update"}
    made.create()
    assert made.changes() == made.faults() == {}


@pytest.mark.nightly
def test_a_table_that_is_written_all_the_time_is_behind_too_where_its_refresh_does_nothing(
    made: InSnowflake,
) -> None:
    known, written, shown = (
        made.reconciler.facts(),
        made.resources["snowflake/table/trades"],
        made.shown("trades"),
    )
    table = replace(written, refresh=1)  # type: ignore[type-var]
    made.standin.turn(more={"refreshes": False})

    def facts() -> dict[str, Any]:
        made.append("trades")
        return table.read(known) or {}

    wait_for(lambda: facts()["behind"])
    there = facts()
    assert there["refreshes"] == "RUNNING"
    with pytest.raises(RefusedYet, match="is behind Glue: Glue shows"):
        table.verify(there, known)
    before = made.service().query(f"select count(*) from {shown}")

    table.update(there, known)
    healed = table.read(known) or {}
    made.standin.turn()

    assert (healed["refreshes"], healed["behind"]) == ("RUNNING", "")
    assert made.service().query(f"select count(*) from {shown}") > before
    assert made.changes() == made.faults() == {}


def test_the_bucket_goes_after_all_that_reads_it(made: InSnowflake) -> None:
    view = next(address for address, each in made.resources.items() if isinstance(each, View))

    assert "aws/bucket" in needed(made, view)


def needed(made: InSnowflake, address: str) -> set[str]:
    """All that an object needs, and what that needs."""
    own = {need for need in made.resources[address].needs if need in made.resources}
    return own.union(*(needed(made, each) for each in own))


def test_it_is_removed_and_removed_again_and_nothing_is_left(made: InSnowflake) -> None:
    made.delete()
    made.delete()

    kinds = ("USERS", "ROLES", "WAREHOUSES", "DATABASES", "EXTERNAL VOLUMES", "CATALOG INTEGRATIONS")
    like = f"LIKE '{made.spec.name.upper()}%'"
    assert [made.admin.shown(f"SHOW {kind} {like}", role="ACCOUNTADMIN") for kind in kinds] == [[]] * 6
    assert made.clouds.secrets.get(made.spec.names.snowflake_secret) is None


def test_each_statement_that_was_said_has_a_source_in_the_docs(made: InSnowflake) -> None:
    """The file's last: all that made, proved, healed and removed the deployment was said."""
    register = next(
        each for each in DOCS.read_text().split("\n## ") if each.startswith("Requests and statements")
    )
    known = [head for cell in re.findall("`([^`\n]+)`", register) for head in heads(cell)]
    by_frazil = [
        each for each in made.admin.statements if each[:1].isupper()
    ]  # tests say theirs in small letters
    statements = {re.sub("OR REPLACE |IF NOT EXISTS ", "", statement) for statement in by_frazil}

    # What alters an object in the way of a user's change is played at night.
    assert {statement.partition(" ")[0] for statement in statements} >= VERBS - {"REVOKE", "ALTER"}
    assert [each for each in sorted(statements) if not any(each.startswith(head) for head in known)] == []


def heads(cell: str) -> list[str]:
    """How statements begin, of what the docs name by `CREATE/DROP ROLE`."""
    verbs, _, rest = cell.partition(" ")
    return [f"{verb} {rest}".strip() for verb in verbs.split("/")] if {*verbs.split("/")} <= VERBS else []
