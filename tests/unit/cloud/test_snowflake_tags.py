"""Who sets tags and masking policies in the stand-in.

As Snowflake has it: docs.snowflake.com, "Access control privileges".
"""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil_local.snowflake.answers import Refused
from frazil_local.snowflake.language.statements import Grant, Kind, SetPolicy, SetTags
from frazil_local.snowflake.objects import Objects
from frazil_local.snowflake.rights.guard import Guard
from frazil_local.snowflake.rights.privileges import Privileges
from frazil_local.snowflake.rights.session import Session

TABLE, NAME = ("DB", "SHOP", "ORDERS"), ("DB", "SHOP", "EMAIL")


@pytest.mark.parametrize("kind", ["TAG", "MASKING POLICY"])
@pytest.mark.parametrize(
    ("role", "applies", "applies_any", "may"),
    [
        ("PUBLISHER", False, False, False),
        ("PUBLISHER", True, False, True),
        ("STEWARD", True, False, False),
        ("STEWARD", False, True, True),
    ],
)
def test_a_table_is_protected_by_who_owns_it_and_may_apply_it_or_may_apply_any(
    kind: Kind, role: str, applies: bool, applies_any: bool, may: bool
) -> None:
    objects = Objects(Path(":memory:"))
    privileges = Privileges(objects)
    objects.add("ICEBERG TABLE", TABLE, {})
    objects.add(kind, NAME, {})
    privileges.own("PUBLISHER", "ICEBERG TABLE", TABLE)
    privileges.own("ADMIN", kind, NAME)
    if applies:
        objects.grant(Grant(("APPLY",), kind, NAME, "ROLE", role))
    if applies_any:
        objects.grant(Grant((f"APPLY {kind}",), "ACCOUNT", ("ACCOUNT",), "ROLE", role))
    statement = SetTags(TABLE, ((NAME, "x"),)) if kind == "TAG" else SetPolicy(TABLE, "EMAIL", NAME)

    guard, session = Guard(objects, privileges), Session("ann", role)
    if may:
        guard.check(statement, session)
        return
    with pytest.raises(Refused) as refusal:
        guard.check(statement, session)
    assert refusal.value.number == 3001
