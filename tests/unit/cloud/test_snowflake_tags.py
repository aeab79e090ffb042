"""Who sets a tag in the stand-in, as Snowflake has it: docs.snowflake.com, "Access control privileges"."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil_local.snowflake.answers import Refused
from frazil_local.snowflake.language.statements import Grant, SetTags
from frazil_local.snowflake.objects import Objects
from frazil_local.snowflake.rights.guard import Guard
from frazil_local.snowflake.rights.privileges import Privileges
from frazil_local.snowflake.rights.session import Session

TABLE, TAG = ("DB", "SHOP", "ORDERS"), ("DB", "SHOP", "DOMAIN")
APPLY = Grant(("APPLY",), "TAG", TAG, "ROLE", "PUBLISHER")
ANY_TAG = Grant(("APPLY TAG",), "ACCOUNT", ("ACCOUNT",), "ROLE", "STEWARD")


@pytest.mark.parametrize(
    ("role", "grants", "may"),
    [
        ("PUBLISHER", (), False),
        ("PUBLISHER", (APPLY,), True),
        ("STEWARD", (APPLY,), False),
        ("STEWARD", (ANY_TAG,), True),
    ],
)
def test_a_tag_is_set_by_who_owns_the_table_and_may_apply_it_or_may_apply_any(
    role: str, grants: tuple[Grant, ...], may: bool
) -> None:
    objects = Objects(Path(":memory:"))
    privileges = Privileges(objects)
    objects.add("ICEBERG TABLE", TABLE, {})
    objects.add("TAG", TAG, {})
    privileges.own("PUBLISHER", "ICEBERG TABLE", TABLE)
    privileges.own("ADMIN", "TAG", TAG)
    for grant in grants:
        objects.grant(grant)
    statement = SetTags(TABLE, ((TAG, "sales"),))

    guard, session = Guard(objects, privileges), Session("ann", role)
    if may:
        guard.check(statement, session)
        return
    with pytest.raises(Refused) as refusal:
        guard.check(statement, session)
    assert refusal.value.number == 3001
