"""Users and roles: what a user must say, how Snowflake describes it, and who may take which role."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from frazil.local.snowflake.config import Config
from frazil.local.snowflake.errors import invalid
from frazil.local.snowflake.keypair import LoginRefused, fingerprint, key_of_pem_file, verify_token
from frazil.local.snowflake.objects import Objects, Stored
from frazil.local.snowflake.results import Result, Row
from frazil.local.snowflake.statements import Grant

__all__ = ["checked_user", "described_user", "login", "may_take", "seed_account"]

_KEYS = ("RSA_PUBLIC_KEY", "RSA_PUBLIC_KEY_2")
_ROLES = ("ACCOUNTADMIN", "SECURITYADMIN", "USERADMIN", "SYSADMIN", "PUBLIC")
_SHOWN = ("NAME", "LOGIN_NAME", "TYPE", "DISABLED", "DEFAULT_WAREHOUSE", "DEFAULT_NAMESPACE", "DEFAULT_ROLE")


def seed_account(objects: Objects, config: Config) -> None:
    """Makes Snowflake's own roles and the first user, whose key is that of the file."""
    for role in _ROLES:
        objects.add("ROLE", (role,), {}, replace=True)
    name = config.admin.upper()
    known = objects.find("USER", (name,))
    key = {"RSA_PUBLIC_KEY": key_of_pem_file(config.admin_key_file)}
    default = {"DEFAULT_ROLE": "ACCOUNTADMIN"}
    objects.add("USER", (name,), {**default, **(known.properties if known else {}), **key}, replace=True)
    objects.grant(Grant(("USAGE",), "ROLE", ("ACCOUNTADMIN",), "USER", name))


def checked_user(given: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of a user.

    Raises:
        Refused: A public key is none.
    """
    for name in _KEYS:
        if name in given:
            try:
                fingerprint(str(given[name]))
            except ValueError:
                raise invalid(name, str(given[name])[:40]) from None
    return dict(given)


def described_user(user: Stored) -> Result:
    """DESC USER."""
    own = {**dict.fromkeys(_SHOWN, "null"), "NAME": user.plain_name, "LOGIN_NAME": user.plain_name}
    own["DISABLED"] = "false"
    shown = {**own, **{k: v for k, v in user.properties.items() if isinstance(v, str)}}
    for name in _KEYS:
        key = user.text(name)
        shown.update({name: key or "null", f"{name}_FP": fingerprint(key) if key else "null"})
    shown["HAS_MFA"] = shown["PASSWORD"] = "null"
    rows: list[Row] = [(name, value, "null", "") for name, value in shown.items()]
    return Result(("property", "value", "default", "description"), tuple(rows))


def login(objects: Objects, account: str, name: str, token: str) -> Stored:
    """The user who proves with a token to hold one of its keys.

    Raises:
        LoginRefused: There is no such user, it is disabled, or no key fits.
    """
    user = next((u for u in objects.all("USER") if _login_name(u) == name.upper()), None)
    if user is None:
        raise LoginRefused("no such user")
    if user.text("DISABLED").upper() == "TRUE":
        raise LoginRefused("the user is disabled")
    verify_token(token, account, name.upper(), [k for k in map(user.text, _KEYS) if k])
    return user


def may_take(objects: Objects, user: str, role: str) -> bool:
    """A user may take PUBLIC, the roles granted to it, and those granted to these."""
    if objects.find("ROLE", (role,)) is None:
        return False
    held = {("USER", user), ("ROLE", "PUBLIC")}
    pairs = [(g.on_name, (g.to_kind, g.to_name)) for g in objects.grants() if g.on_kind == "ROLE"]
    while added := {("ROLE", on) for on, to in pairs if to in held} - held:
        held |= added
    return bool({("ROLE", role), ("ROLE", "ACCOUNTADMIN")} & held)


def _login_name(user: Stored) -> str:
    return user.text("LOGIN_NAME", user.plain_name).upper()
