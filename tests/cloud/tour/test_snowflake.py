"""What somebody changes by hand in Snowflake is named, and healed or explained."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kit.deployments.tour import Change, Frazil, Tour, explain, explained, heal, waves

pytestmark = pytest.mark.nightly

ALL, OWNER = "ACCOUNTADMIN", "SYSTEM_ADMIN_ROLE"
USER, VOLUME, CATALOG = "snowflake/user", "snowflake/volume", "snowflake/catalog_integration"
SYSTEM, OF_USER = "snowflake/grants/system", "snowflake/grants/user"
TABLE, VIEW, READER = "snowflake/table/trades", "snowflake/view/trades", "aws/reader_role"
SHOWN = "{SCHEMA}.TRADES_WITHOUT_METADATA"


def saying(*statements: str, role: str = ALL) -> Any:
    """The deed of saying these in a role."""
    return lambda tour: [tour.say(role, statement) for statement in statements]


by_owner = partial(saying, role=OWNER)


def replaced(tour: Tour, kind: str, address: str) -> None:
    """Made anew by somebody who wrote OR REPLACE; Snowflake draws another external id."""
    options = tour.resource(address).options(tour.known)
    tour.say(ALL, f"CREATE OR REPLACE {kind} " + options.replace("{", "{{").replace("}", "}}"))


def other_keys(tour: Tour) -> None:
    """As after a restore of an old secret: no slot of the user has a key of its pairs."""
    tour.say(ALL, "alter user {USER} set rsa_public_key = '{key}'")


CHANGES = (
    Change(
        "a grant is gone",
        saying("revoke usage on warehouse {WAREHOUSE} from role {SYSTEM_ADMIN_ROLE}"),
        (SYSTEM,),
        ("WAREHOUSE",),
    ),
    Change(
        "a grant on the schema is gone",
        saying("revoke create view on schema {SCHEMA} from role {SYSTEM_ADMIN_ROLE}"),
        (SYSTEM,),
        ("CREATE VIEW",),
    ),
    Change(
        "the user lost its role",
        saying("revoke role {SYSTEM_ADMIN_ROLE} from user {USER}"),
        (OF_USER,),
        ("SYSTEM_ADMIN_ROLE",),
    ),
    Change(
        "the role may make databases",
        saying("grant create database on account to role {SYSTEM_ADMIN_ROLE}"),
        (SYSTEM,),
        ("CREATE DATABASE ON ACCOUNT",),
    ),
    Change(
        "the role may use a foreign warehouse",
        saying(
            "create warehouse if not exists of_others",
            "grant usage on warehouse of_others to role {SYSTEM_ADMIN_ROLE}",
        ),
        (SYSTEM,),
        ("OF_OTHERS",),
    ),
    Change(
        "the user is an administrator of the account",
        saying("grant role accountadmin to user {USER}"),
        (OF_USER,),
        ("ACCOUNTADMIN",),
    ),
    Change(
        "the role has another one's rights",
        saying("grant role sysadmin to role {SYSTEM_ADMIN_ROLE}"),
        (SYSTEM,),
        ("SYSADMIN",),
    ),
    Change(
        "the role may use what others will make",
        saying(
            "create database if not exists of_others",
            "grant select on future tables in database of_others to role {SYSTEM_ADMIN_ROLE}",
        ),
        (SYSTEM,),
        ("FUTURE TABLES IN DATABASE",),
    ),
    Change(
        "the role may pass its right on",
        saying("grant usage on warehouse {WAREHOUSE} to role {SYSTEM_ADMIN_ROLE} with grant option"),
        (SYSTEM,),
        ("WITH GRANT OPTION",),
    ),
    Change(
        "somebody else has the role",
        saying(
            "create role if not exists strangers",
            "grant role {SYSTEM_ADMIN_ROLE} to role strangers",
        ),
        (SYSTEM,),
        ("STRANGERS",),
    ),
    Change(
        "the user is disabled",
        saying("alter user {USER} set disabled = true"),
        (USER,),
        ("disabled",),
        also=(TABLE,),
    ),
    Change(
        "a foreign key lets somebody in",
        saying("alter user {USER} set rsa_public_key_2 = '{key}'"),
        (USER,),
        ("RSA_PUBLIC_KEY_2",),
    ),
    Change(
        "the key in use is gone",
        saying("alter user {USER} unset rsa_public_key"),
        (USER,),
        ("another, or none",),
    ),
    Change("the key in use is a foreign one", other_keys, (USER,), ("another, or none",)),
    Change(
        "the user works in another role",
        saying("alter user {USER} set default_role = 'PUBLIC'"),
        (USER,),
        ("default_role",),
    ),
    Change(
        "the user works elsewhere",
        saying("alter user {USER} set default_namespace = 'ELSEWHERE.S'"),
        (USER,),
        ("default_namespace",),
    ),
    Change("the user is a person", saying("alter user {USER} set type = person"), (USER,), ("PERSON",)),
    Change(
        "the integration is off",
        saying("alter catalog integration {CATALOG_INTEGRATION} set enabled = false"),
        (CATALOG,),
        ("enabled",),
        also=(TABLE,),
    ),
    Change(
        "the integration looks rarely",
        saying("alter catalog integration {CATALOG_INTEGRATION} set refresh_interval_seconds = 3600"),
        (CATALOG,),
        ("3600",),
    ),
    Change(
        "the volume may write",
        saying("alter external volume {VOLUME} set allow_writes = true"),
        (VOLUME,),
        ("allow_writes",),
    ),
    Change(
        "the volume is another one",
        lambda t: replaced(t, "EXTERNAL VOLUME", VOLUME),
        (READER, SYSTEM),
        ("trust",),
        also=(TABLE,),
    ),
    Change(
        "the integration is another one",
        lambda t: replaced(t, "CATALOG INTEGRATION", CATALOG),
        (READER, SYSTEM),
        ("trust",),
        also=(TABLE,),
    ),
    Change(
        "the view shows something else",
        by_owner(f'create or replace view {SHOWN} as select "price" + 1 as "price" from {{SCHEMA}}.TRADES'),
        (VIEW,),
        ("query",),
    ),
    Change("the view is gone", by_owner(f"drop view {SHOWN}"), (VIEW,)),
    Change("the table is gone under its view", by_owner("drop iceberg table {SCHEMA}.TRADES"), (TABLE, VIEW)),
    Change(
        "the table stands still",
        by_owner("alter iceberg table {SCHEMA}.TRADES set auto_refresh = false"),
        (TABLE,),
        ("not by itself",),
    ),
    Change(
        "another role owns the table",
        saying("grant ownership on iceberg table {SCHEMA}.TRADES to role sysadmin copy current grants"),
        (TABLE,),
        ("owner",),
    ),
    Change(
        "the warehouse is huge",
        saying("alter warehouse {WAREHOUSE} set warehouse_size = xlarge"),
        ("snowflake/warehouse",),
        ("XLARGE",),
    ),
    Change(
        "the warehouse never sleeps",
        saying("alter warehouse {WAREHOUSE} set auto_suspend = 36000"),
        ("snowflake/warehouse",),
        ("36000",),
    ),
    Change(
        "the warehouse is gone",
        saying("drop warehouse {WAREHOUSE}"),
        ("snowflake/warehouse", SYSTEM),
        alone=True,
    ),
    Change(
        "the warehouse bears another comment",
        saying("alter warehouse {WAREHOUSE} set comment = 'of others'"),
        advice=("not of this deployment", "COMMENT = 'frazil:lab'"),
        mended=lambda t, _: t.say(ALL, "alter warehouse {WAREHOUSE} set comment = 'frazil:lab'"),
        ends_looks=True,
    ),
    Change(
        "no administrator may take the role",
        saying("revoke role {SYSTEM_ADMIN_ROLE} from role sysadmin"),
        ("snowflake/grants/administrator",),
        alone=True,
    ),
    Change(
        "the role is gone",
        saying("drop role {SYSTEM_ADMIN_ROLE}"),
        ("snowflake/role/system", SYSTEM, OF_USER, "snowflake/grants/administrator", TABLE, VIEW),
        alone=True,
    ),
    Change(
        "the schema is gone",
        saying("drop schema {SCHEMA}"),
        ("snowflake/schema", SYSTEM, TABLE, VIEW),
        alone=True,
    ),
    Change(
        "the user is gone",
        saying("drop user {USER}"),
        (USER, OF_USER, "snowflake/grants/security"),
        alone=True,
    ),
)


@pytest.mark.parametrize("wave", waves(CHANGES), ids=lambda wave: f"{wave[0]} and {len(wave) - 1} more")
def test_changes_by_hand_are_named_and_healed(tour: Tour, frazil: Frazil, wave: list[Change]) -> None:
    heal(tour, frazil, wave)


@pytest.mark.parametrize("change", explained(CHANGES), ids=str)
def test_a_change_that_nobody_may_heal_is_explained(tour: Tour, frazil: Frazil, change: Change) -> None:
    explain(tour, frazil, change)
