"""SHOW GRANTS is compared by meaning: kinds have a general and a specific word, and rows may lack columns."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.errors import DifferentError
from frazil_cloud.plan import differences
from frazil_cloud.snowflake.rights.grants import Grants
from frazil_cloud.snowflake.rights.present import Grant

VOLUME = Grant("USAGE", "EXTERNAL VOLUME", ("LAKE",))
CATALOG = Grant("USAGE", "INTEGRATION", ("GLUE",))
ROLE = Grant("USAGE", "ROLE", ("READER",))


class Shown:
    """Answers SHOW GRANTS, and keeps what else it is asked to do."""

    def __init__(
        self,
        *rows: dict[str, Any],
        future: tuple[dict[str, Any], ...] = (),
        of: tuple[dict[str, Any], ...] = (),
    ) -> None:
        self.rows = {"SHOW GRANTS TO": rows, "SHOW FUTURE GRANTS TO": future, "SHOW GRANTS OF": of}
        self.statements = list[str]()

    def shown(self, sql: str, role: str | None = None) -> list[dict[str, Any]]:
        return list(self.rows[sql[: sql.index(' "')].rpartition(" ")[0]])

    def query(self, sql: str, role: str | None = None) -> list[Any]:
        self.statements.append(sql)
        return []


def row(privilege: str, kind: str, name: str) -> dict[str, Any]:
    return {"privilege": privilege, "granted_on": kind, "name": name, "granted_to": "ROLE"}


def grants(
    shown: Shown,
    *wanted: Grant,
    to: str = "SHOP_ROLE",
    kind: str = "ROLE",
    holders: tuple[tuple[str, str], ...] = (),
) -> Grants:
    snowflake: Any = shown
    to_kind: Any = kind
    return Grants(snowflake, "snowflake/grants/system", (), to_kind, to, wanted, "SHOP_DATABASE", holders)


def healed(shown: Shown, *wanted: Grant, **options: Any) -> list[str]:
    """What is said to take away what was granted besides; each was named as what gave it."""
    grant = grants(shown, *wanted, **options)
    there = grant.read({}) or {}
    named = [gave for change in differences(grant.wanted({}), there) for gave in change.is_]
    grant.update(there, {})
    assert len(named) == len(shown.statements)
    return shown.statements


@pytest.mark.parametrize("volume", ["VOLUME", "EXTERNAL_VOLUME"])
@pytest.mark.parametrize("catalog", ["INTEGRATION", "CATALOG_INTEGRATION"])
def test_a_kind_is_known_by_its_general_and_by_its_specific_word(volume: str, catalog: str) -> None:
    shown = Shown(row("USAGE", volume, "LAKE"), row("USAGE", catalog, "GLUE"))
    grant = grants(shown, VOLUME, CATALOG)
    assert differences(grant.wanted({}), grant.read({}) or {}) == ()


def test_a_user_s_roles_are_found_among_rows_that_name_none() -> None:
    shown = Shown({"role": "READER", "granted_to": "USER"}, row("USAGE", "VOLUME", "LAKE") | {"role": None})
    grant = grants(shown, ROLE, VOLUME, kind="USER")
    assert differences(grant.wanted({}), grant.read({}) or {}) == ()


def test_names_are_read_as_snowflake_writes_them() -> None:
    odd = Grant("USAGE", "SCHEMA", ("SHOP_DATABASE", 'a.b "c"'))
    grant = grants(Shown(row("USAGE", "SCHEMA", 'SHOP_DATABASE."a.b ""c"""')), odd)
    assert differences(grant.wanted({}), grant.read({}) or {}) == ()


def test_what_was_granted_besides_is_named_and_taken_away_but_not_what_pipelines_grant() -> None:
    shown = Shown(
        row("USAGE", "VOLUME", "LAKE"),
        row("USAGE", "ROLE", "ACCOUNTADMIN"),
        row("SELECT", "TABLE", "SHOP_DATABASE.SHOP_SCHEMA.LANDED"),
        row("OWNERSHIP", "TABLE", "ELSEWHERE.S.T"),
    )
    grant = grants(shown, VOLUME)
    (change,) = differences(grant.wanted({}), there := grant.read({}) or {})
    assert change.is_ == ['GRANT ROLE "ACCOUNTADMIN" TO ROLE "SHOP_ROLE"']
    grant.update(there, {})
    assert shown.statements == ['REVOKE ROLE "ACCOUNTADMIN" FROM ROLE "SHOP_ROLE"']


def test_of_snowflake_s_own_roles_only_what_is_missing_counts() -> None:
    grant = grants(
        Shown(row("USAGE", "VOLUME", "LAKE"), row("USAGE", "ROLE", "OTHER")), VOLUME, to="SYSADMIN"
    )
    assert differences(grant.wanted({}), grant.read({}) or {}) == ()


@pytest.mark.parametrize(
    ("kind", "name", "revoked"),
    [
        ("DATABASE_ROLE", "SNOWFLAKE.OBJECT_VIEWER", 'DATABASE ROLE "SNOWFLAKE"."OBJECT_VIEWER"'),
        ("STORAGE_INTEGRATION", "X", 'USAGE ON INTEGRATION "X"'),
        ("SECURITY_INTEGRATION", "X", 'USAGE ON INTEGRATION "X"'),
        ("EXTERNAL_ACCESS_INTEGRATION", "X", 'USAGE ON INTEGRATION "X"'),
        ("INTEGRATION", "X", 'USAGE ON INTEGRATION "X"'),
        ("VOLUME", "X", 'USAGE ON EXTERNAL VOLUME "X"'),
        ("DATABASE", "SNOWFLAKE", 'IMPORTED PRIVILEGES ON DATABASE "SNOWFLAKE"'),
        ("MODULE", "D.S.X", 'USAGE ON MODEL "D"."S"."X"'),
        ("COMPUTE_POOL", "X", 'USAGE ON COMPUTE POOL "X"'),
    ],
)
def test_each_kind_is_revoked_by_the_word_that_revoke_knows(kind: str, name: str, revoked: str) -> None:
    shown = Shown(row("USAGE", "VOLUME", "LAKE"), row("USAGE", kind, name))
    assert healed(shown, VOLUME) == [f'REVOKE {revoked} FROM ROLE "SHOP_ROLE"']


@pytest.mark.parametrize("kind", ["FUNCTION", "PROCEDURE", "APPLICATION_ROLE", "SOMETHING_NEW"])
def test_what_can_t_be_written_is_named_and_not_tried_but_the_rest_is_done(kind: str) -> None:
    foreign = row("USAGE", kind, 'D.S."F(VARCHAR, NUMBER):NUMBER"')
    shown = Shown(row("USAGE", "VOLUME", "LAKE"), foreign, row("USAGE", "ROLE", "ACCOUNTADMIN"))
    grant = grants(shown, VOLUME)
    with pytest.raises(DifferentError, match="more than it needs") as named:
        grant.update(grant.read({}) or {}, {})
    assert shown.statements == ['REVOKE ROLE "ACCOUNTADMIN" FROM ROLE "SHOP_ROLE"']
    assert "F(VARCHAR, NUMBER)" in named.value.where
    assert foreign in shown.shown(named.value.todo.partition(";")[0])

    shown.rows["SHOW GRANTS TO"] = (row("USAGE", "VOLUME", "LAKE"),)  # as somebody revoked it
    grant.update(grant.read({}) or {}, {})
    assert differences(grant.wanted({}), grant.read({}) or {}) == ()


def test_what_comes_from_a_grant_on_all_is_not_revoked_one_by_one() -> None:
    shown = Shown(row("USAGE", "VOLUME", "LAKE"), row("SELECT", "TABLE", "D.S.T") | {"is_inherited": "true"})
    grant = grants(shown, VOLUME)
    with pytest.raises(DifferentError):
        grant.update(grant.read({}) or {}, {})
    assert shown.statements == []


def test_grants_on_what_is_to_come_are_named_and_taken_away() -> None:
    row_part = {"grant_to": "ROLE", "grantee_name": "SHOP_ROLE", "grant_option": "false"}
    on_schema = {"privilege": "SELECT", "grant_on": "TABLE", "name": 'D."a.b".<TABLE>', **row_part}
    on_database = {
        "privilege": "APPLY",
        "grant_on": "MASKING_POLICY",
        "name": "D.<MASKING_POLICY>",
        **row_part,
    }
    of_a_pipeline = {"privilege": "SELECT", "grant_on": "VIEW", "name": "SHOP_DATABASE.S.<VIEW>", **row_part}
    shown = Shown(row("USAGE", "VOLUME", "LAKE"), future=(on_schema, on_database, of_a_pipeline))
    assert healed(shown, VOLUME) == [
        'REVOKE SELECT ON FUTURE TABLES IN SCHEMA "D"."a.b" FROM ROLE "SHOP_ROLE"',
        'REVOKE APPLY ON FUTURE MASKING POLICIES IN DATABASE "D" FROM ROLE "SHOP_ROLE"',
    ]


def test_the_right_to_pass_a_needed_grant_on_is_taken_away_alone() -> None:
    shown = Shown(row("USAGE", "VOLUME", "LAKE") | {"grant_option": "true"})
    assert healed(shown, VOLUME) == [
        'REVOKE GRANT OPTION FOR USAGE ON EXTERNAL VOLUME "LAKE" FROM ROLE "SHOP_ROLE"'
    ]


def test_who_else_has_the_role_is_named_and_loses_it() -> None:
    of = (
        {"role": "SHOP_ROLE", "granted_to": "ROLE", "grantee_name": "SYSADMIN"},
        {"role": "SHOP_ROLE", "granted_to": "USER", "grantee_name": "SHOP_USER"},
        {"role": "SHOP_ROLE", "granted_to": "USER", "grantee_name": "eve@shop.com"},
    )
    holders = (("ROLE", "SYSADMIN"), ("USER", "SHOP_USER"))
    shown = Shown(row("USAGE", "VOLUME", "LAKE"), of=of)
    assert healed(shown, VOLUME, holders=holders) == ['REVOKE ROLE "SHOP_ROLE" FROM USER "eve@shop.com"']
