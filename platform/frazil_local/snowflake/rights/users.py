"""Users and roles: logging in by key or OAuth, what a user must say, and who may take which role."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
    load_pem_public_key,
)

from frazil_local.snowflake.answers import Result, Row, invalid
from frazil_local.snowflake.config import Config
from frazil_local.snowflake.language.statements import Grant
from frazil_local.snowflake.objects import Objects, Stored, now

_KEYS = ("RSA_PUBLIC_KEY", "RSA_PUBLIC_KEY_2")
_ROLES = ("ACCOUNTADMIN", "SECURITYADMIN", "USERADMIN", "SYSADMIN", "PUBLIC")
_SHOWN = ("NAME", "LOGIN_NAME", "TYPE", "DISABLED", "DEFAULT_WAREHOUSE", "DEFAULT_NAMESPACE", "DEFAULT_ROLE")
_OF_PEOPLE = (
    "PASSWORD",
    "FIRST_NAME",
    "MIDDLE_NAME",
    "LAST_NAME",
    "MUST_CHANGE_PASSWORD",
    "MINS_TO_BYPASS_MFA",
)
_BAD_TOKEN, _OAUTH_INVALID, _OAUTH_EXPIRED = "390144", "390303", "390318"
_LONGEST_LIFE = 3600 + 60  # Snowflake takes tokens of one hour at most; a minute more for clocks


class LoginRefused(Exception):
    """Someone could not prove to be the user; `code` is Snowflake's number of it."""

    def __init__(self, reason: str, code: str = _BAD_TOKEN) -> None:
        super().__init__(f"JWT token is invalid. [{reason}]" if code == _BAD_TOKEN else reason)
        self.code = code


def fingerprint(key: str) -> str:
    """`SHA256:` and the digest of an RSA public key, as DESC USER shows it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(_der(_public_key(key))).digest()).decode()


def _verify_any(token: str, account: str, user: str, keys: Iterable[str]) -> None:
    """Checks a login token against a user's keys; a refusal says what was wrong with the last one."""
    reason = "the user has no public key"
    for key in keys:
        try:
            _verify(token, account, user, key)
        except (jwt.InvalidTokenError, ValueError) as e:
            reason = str(e)
        else:
            return
    raise LoginRefused(reason)


def _verify(token: str, account: str, user: str, key: str) -> None:
    """Checks signature, life time, issuer and subject."""
    subject = f"{account}.{user}"
    claims: dict[str, Any] = jwt.decode(
        token,
        _public_key(key),
        algorithms=["RS256"],
        issuer=f"{subject}.{fingerprint(key)}",
        options={"require": ["exp", "iat", "iss", "sub"]},
    )
    if claims["sub"] != subject:
        raise jwt.InvalidTokenError("wrong subject")
    if claims["exp"] - claims["iat"] > _LONGEST_LIFE:
        raise jwt.InvalidTokenError("lives longer than an hour")


def _public_key(key: str) -> RSAPublicKey:
    try:
        loaded = load_der_public_key(base64.b64decode("".join(key.split()), validate=True))
    except (ValueError, UnsupportedAlgorithm) as e:
        raise ValueError("no public key") from e
    if not isinstance(loaded, RSAPublicKey):
        raise ValueError("no RSA public key")
    return loaded


def _der(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def seed_account(objects: Objects, config: Config) -> None:
    """Makes Snowflake's own roles and the first user, whose key is that of the file."""
    for role in _ROLES:
        objects.add("ROLE", (role,), {}, replace=True)
    name = config.admin.upper()
    known = objects.find("USER", (name,))
    key = _der(load_pem_public_key(config.admin_key_file.read_bytes()))
    own = {"DEFAULT_ROLE": "ACCOUNTADMIN", **(known.properties if known else {})}
    own["RSA_PUBLIC_KEY"] = base64.b64encode(key).decode()
    objects.add("USER", (name,), own, replace=True)
    objects.grant(Grant(("USAGE",), "ROLE", ("ACCOUNTADMIN",), "USER", name))


def checked_user(given: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The properties of a user; refuses a public key that is none, and what a service does not have."""
    dated = dict(given)
    if str(given.get("TYPE", "")).upper() == "SERVICE" and (wrong := [n for n in _OF_PEOPLE if n in given]):
        raise invalid(wrong[0], "not of a user of TYPE = SERVICE")
    for name in _KEYS:
        if name in given:
            try:
                fingerprint(str(given[name]))
            except ValueError:
                raise invalid(name, str(given[name])[:40]) from None
            if given[name] != (before or {}).get(name):
                dated[f"{name}_LAST_SET_TIME"] = now()
    return dated


def described_user(user: Stored) -> Result:
    """DESC USER."""
    shown = {**dict.fromkeys(_SHOWN, "null"), "NAME": user.plain_name, "LOGIN_NAME": user.plain_name}
    shown["DISABLED"] = "false"
    shown.update({k: v for k, v in user.properties.items() if isinstance(v, str)})
    for name in _KEYS:
        key = user.text(name)
        since = user.text(f"{name}_LAST_SET_TIME") if key else ""
        shown.update(
            {
                name: key or "null",
                f"{name}_FP": fingerprint(key) if key else "null",
                f"{name}_LAST_SET_TIME": since or "null",
            }
        )
    shown |= dict.fromkeys(("HAS_MFA", "PASSWORD"), "null")
    rows: list[Row] = [(name, value, "null", "") for name, value in shown.items()]
    return Result(("property", "value", "default", "description"), tuple(rows))


def login(objects: Objects, account: str, name: str, token: str) -> Stored:
    """The user who proves with a token to hold one of its keys; LoginRefused where nobody does."""
    user = _user(objects, name)
    _verify_any(token, account, name.upper(), [k for k in map(user.text, _KEYS) if k])
    return user


def login_by_oauth(objects: Objects, token: str) -> Stored:
    """The user whom a token names that was made by a server of OAuth that a security integration trusts."""
    for integration in objects.all("SECURITY INTEGRATION"):
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                _public_key(integration.text("EXTERNAL_OAUTH_RSA_PUBLIC_KEY")),
                algorithms=["RS256"],
                issuer=integration.text("EXTERNAL_OAUTH_ISSUER"),
                options={"require": ["exp", "iss", "sub"], "verify_aud": False},
            )
        except jwt.ExpiredSignatureError:
            raise LoginRefused("OAuth access token expired.", _OAUTH_EXPIRED) from None
        except jwt.InvalidTokenError:
            continue
        return _user(objects, str(claims["sub"]))
    raise LoginRefused("Invalid OAuth access token.", _OAUTH_INVALID)


def _user(objects: Objects, name: str) -> Stored:
    def login_name(user: Stored) -> str:
        return user.text("LOGIN_NAME", user.plain_name).upper()

    user = next((u for u in objects.all("USER") if login_name(u) == name.upper()), None)
    if user is None:
        raise LoginRefused("no such user")
    if user.text("DISABLED").upper() == "TRUE":
        raise LoginRefused("the user is disabled")
    return user


def may_take(objects: Objects, user: str, role: str) -> bool:
    """A user may take PUBLIC, the roles granted to it, and those granted to these."""
    if objects.find("ROLE", (role,)) is None:
        return False
    taken = {("USER", user), ("ROLE", "PUBLIC")}
    pairs = [(g.on_name, (g.to_kind, g.to_name)) for g in objects.grants() if g.on_kind == "ROLE"]
    while added := {("ROLE", on) for on, to in pairs if to in taken} - taken:
        taken |= added
    return bool({("ROLE", role), ("ROLE", "ACCOUNTADMIN")} & taken)
