"""SHOW GRANTS is compared by meaning: kinds have a general and a specific word, and rows may lack columns."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.cloud.plan import differences
from frazil.cloud.snowflake.grants import Grant, Grants

VOLUME = Grant("USAGE", "EXTERNAL VOLUME", ("LAKE",))
CATALOG = Grant("USAGE", "INTEGRATION", ("GLUE",))
ROLE = Grant("USAGE", "ROLE", ("READER",))


class Shown:
    """Answers SHOW GRANTS, and keeps what else it is asked to do."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.rows, self.said = rows, list[str]()

    def shown(self, sql: str, role: str | None = None) -> list[dict[str, Any]]:
        return list(self.rows)

    def query(self, sql: str, role: str | None = None) -> list[Any]:
        self.said.append(sql)
        return []


def row(privilege: str, kind: str, name: str) -> dict[str, Any]:
    return {"privilege": privilege, "granted_on": kind, "name": name, "granted_to": "ROLE"}


def grants(shown: Shown, *wanted: Grant, to: str = "SHOP_ROLE", kind: str = "ROLE") -> Grants:
    snowflake: Any = shown
    to_kind: Any = kind
    return Grants(snowflake, "snowflake/grants/system", (), to_kind, to, wanted, "SHOP_DATABASE")


@pytest.mark.parametrize("volume", ["VOLUME", "EXTERNAL_VOLUME"])
@pytest.mark.parametrize("catalog", ["INTEGRATION", "CATALOG_INTEGRATION"])
def test_a_kind_is_known_by_its_general_and_by_its_specific_word(volume: str, catalog: str) -> None:
    shown = Shown(row("USAGE", volume, "LAKE"), row("USAGE", catalog, "GLUE"))
    held = grants(shown, VOLUME, CATALOG)
    assert differences(held.wanted({}), held.read({}) or {}) == ()


def test_a_user_s_roles_are_found_among_rows_that_name_none() -> None:
    shown = Shown({"role": "READER", "granted_to": "USER"}, row("USAGE", "VOLUME", "LAKE") | {"role": None})
    held = grants(shown, ROLE, VOLUME, kind="USER")
    assert differences(held.wanted({}), held.read({}) or {}) == ()


def test_names_are_read_as_snowflake_writes_them() -> None:
    odd = Grant("USAGE", "SCHEMA", ("SHOP_DATABASE", 'a.b "c"'))
    held = grants(Shown(row("USAGE", "SCHEMA", 'SHOP_DATABASE."a.b ""c"""')), odd)
    assert differences(held.wanted({}), held.read({}) or {}) == ()


def test_what_was_granted_besides_is_named_and_taken_away_but_not_what_pipelines_grant() -> None:
    shown = Shown(
        row("USAGE", "VOLUME", "LAKE"),
        row("USAGE", "ROLE", "ACCOUNTADMIN"),
        row("SELECT", "TABLE", "SHOP_DATABASE.SHOP_SCHEMA.LANDED"),
        row("OWNERSHIP", "TABLE", "ELSEWHERE.S.T"),
    )
    held = grants(shown, VOLUME)
    (change,) = differences(held.wanted({}), there := held.read({}) or {})
    assert change.is_ == ['GRANT ROLE "ACCOUNTADMIN" TO ROLE "SHOP_ROLE"']
    held.update(there, {})
    assert shown.said == ['REVOKE ROLE "ACCOUNTADMIN" FROM ROLE "SHOP_ROLE"']


def test_of_snowflake_s_own_roles_only_what_is_missing_counts() -> None:
    held = grants(Shown(row("USAGE", "VOLUME", "LAKE"), row("USAGE", "ROLE", "OTHER")), VOLUME, to="SYSADMIN")
    assert differences(held.wanted({}), held.read({}) or {}) == ()
