"""What errors of Snowflake advise is done, and comes out right; nothing goes that is not named."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from frazil.clients import Clients
from frazil.doctor.snowflake import _Account
from frazil.errors import ConfigureError, DifferentError, MissingError, NotAllowedError, RepairError
from frazil.publishing.snowflake.connection import open_snowflake, rows
from frazil.publishing.snowflake.making import make_volume
from frazil.publishing.snowflake.statements import volume_of
from frazil.quoting import double_quoted
from frazil.settings.profile import Settings
from frazil_cloud.aws.client import Aws
from frazil_cloud.rotation.candidate import StagedSecret
from frazil_cloud.rotation.rsa import RsaKeys
from frazil_cloud.rotation.snowflake_user import ServiceUser
from frazil_cloud.snowflake.rights.grants import Grants
from kit.clouds import in_snowflake
from kit.clouds.cloud_snowflake import CloudSnowflake
from kit.clouds.in_snowflake import InSnowflake
from kit.deployments.rotations import AT_ONCE
from kit.stack.standin import new_key


@pytest.mark.nightly
def test_a_name_of_somebody_elses_is_passed_by_under_another_one(
    deployment: Callable[..., InSnowflake],
) -> None:
    first, second = deployment(), deployment()
    name = first.spec.names.snowflake("WAREHOUSE")
    first.standin.as_("SYSADMIN", f"create warehouse {name} comment = 'of others'")
    with pytest.raises(ConfigureError, match="not of this deployment") as raised:
        first.create()
    assert raised.value.todo.startswith("Give the deployment another name.")

    second.create()

    assert second.changes() == {}
    second.delete()
    kept = first.admin.shown(f"show warehouses like '{name}'", role="SYSADMIN")
    assert kept[0]["comment"] == "of others"
    first.standin.as_("SYSADMIN", f"drop warehouse {name}")


@pytest.mark.nightly  # by day test_life_cycle.py takes each grant, and gives it back by that statement
def test_grants_that_are_missing_are_given_by_the_statements_that_the_error_names(made: InSnowflake) -> None:
    grants = next(
        each for each in made.resources.values() if isinstance(each, Grants) and len(each.grants) > 1
    )
    taken = grants.grants[0]
    made.standin.as_("SECURITYADMIN", f"REVOKE {taken.what} FROM {grants.to_kind} {grants.to_name}")
    with pytest.raises(NotAllowedError, match="lacks grants") as raised:
        grants.verify(grants.read({}) or {}, {})

    for statement in raised.value.todo.split(";\n"):
        made.standin.as_("SECURITYADMIN", statement.rstrip(";"))

    grants.verify(grants.read({}) or {}, {})
    assert made.changes() == {}


def test_a_role_is_granted_by_the_statement_that_the_error_names(snowflake: CloudSnowflake) -> None:
    user = snowflake.user("weaker_admin", "SYSADMIN")
    with closing(in_snowflake.administrator(snowflake, user.name, user.key.private_der)) as admin:
        with pytest.raises(NotAllowedError) as refused:
            admin.query("show roles", role="USERADMIN")
        snowflake.as_("ACCOUNTADMIN", refused.value.todo.rstrip(";"))

    with closing(in_snowflake.administrator(snowflake, user.name, user.key.private_der)) as admin:
        assert admin.query("show roles", role="USERADMIN")


def test_a_login_that_was_refused_goes_through_with_the_key_that_snowflake_knows(
    snowflake: CloudSnowflake,
) -> None:
    stranger = in_snowflake.administrator(snowflake, "boss", new_key().private_der)
    with closing(stranger), pytest.raises(ConfigureError, match="refuses the login") as raised:
        stranger.query("select 1")
    assert "DESC USER" in raised.value.todo

    with closing(in_snowflake.administrator(snowflake)) as admin:
        assert admin.query("select 1") == [(1,)]


def test_a_statement_that_was_refused_goes_through_once_what_the_message_names_is_mended(
    snowflake: CloudSnowflake,
) -> None:
    with closing(in_snowflake.administrator(snowflake)) as admin:
        with pytest.raises(RepairError, match="refused a statement"):
            admin.query("selekt 1")
        assert admin.query("select 1") == [(1,)]

        weak = snowflake.user("may_little", "PUBLIC")
        with closing(in_snowflake.administrator(snowflake, weak.name, weak.key.private_der)) as little:
            with pytest.raises(NotAllowedError, match="does not allow"):
                little.query("create database of_little")
            snowflake.as_("SECURITYADMIN", "grant create database on account to role public")
            little.query("create database of_little")
            snowflake.as_("SECURITYADMIN", "revoke create database on account from role public")
            little.query("drop database of_little")


@pytest.mark.nightly
def test_a_secret_of_the_service_user_that_is_gone_is_made_anew_by_deploy_create(
    deployment: Callable[..., InSnowflake],
) -> None:
    shop = deployment()
    shop.create()
    secret, user = (
        shop.spec.names.snowflake_secret,
        ServiceUser(shop.admin, shop.spec.names.snowflake("USER")),
    )
    keys = RsaKeys(user, StagedSecret(Aws(shop.aws.settings), secret), user.prove, AT_ONCE)
    shop.clouds.secrets.delete(secret)
    with pytest.raises(MissingError, match="holds no key") as raised:
        shop.resources["snowflake/user"].verify({}, {})
    assert raised.value.todo == "`frazil deploy create` makes a new one."
    with pytest.raises(MissingError, match="no secret to rotate") as missed:
        keys.turn()
    assert missed.value.todo == "`frazil deploy create` makes it."

    shop.create()

    assert shop.changes() == {}
    assert shop.faults() == {}
    assert keys.turn().key in user.fingerprints().values()
    shop.delete()


def settings_of(standin: CloudSnowflake, user: str = "boss", **more: Any) -> Settings:
    """As pipelines have them, with the stand-in's key."""
    key = standin.key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    settings = in_snowflake.settings_of(standin, user)
    return settings.with_changes(snowflake={"private_key": key, "warehouse": None, **more})


def test_a_login_of_a_pipeline_goes_through_with_the_settings_that_the_error_names(
    snowflake: CloudSnowflake,
) -> None:
    wrong = new_key().private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    for changes, named in (
        ({"private_key": wrong}, "FRAZIL_SNOWFLAKE__PRIVATE_KEY"),
        ({"login_role": "NOBODY_GAVE_IT"}, "FRAZIL_SNOWFLAKE__LOGIN_ROLE"),
    ):
        with (
            pytest.raises(ConfigureError, match="refuses the login") as refused,
            open_snowflake(settings_of(snowflake, **changes)),
        ):
            pass
        assert named in refused.value.todo

    with open_snowflake(settings_of(snowflake)) as connection:
        assert rows(connection, "select 1") == [(1,)]
    snowflake.as_("USERADMIN", "create role given_to_boss", "grant role given_to_boss to user boss")
    with open_snowflake(settings_of(snowflake, login_role="GIVEN_TO_BOSS")) as connection:
        assert rows(connection, "select current_role()") == [("GIVEN_TO_BOSS",)]


@pytest.mark.parametrize("way", ["a new name", "dropped"])
def test_a_volume_of_another_place_stays_beside_a_new_one_or_is_dropped(
    snowflake: CloudSnowflake, way: str
) -> None:
    name = f"lake_{way.replace(' ', '_')}"
    account = {
        "login_role": "ACCOUNTADMIN", "external_volume": name, "storage_base_url": "s3://here/",
        "aws_role_arn": "arn:aws:iam::123456789012:role/reader",
    }  # fmt: skip
    elsewhere = settings_of(snowflake, **{**account, "storage_base_url": "s3://elsewhere/"})
    here = settings_of(snowflake, **account)
    with open_snowflake(elsewhere) as connection:
        make_volume(connection, volume_of(elsewhere))
        with pytest.raises(DifferentError, match="of another place") as refused:
            make_volume(connection, volume_of(here))
        assert "if nobody else reads by it" in refused.value.todo

        if way == "dropped":
            rows(connection, f"drop external volume {double_quoted(volume_of(here).name)}")
        else:
            here = settings_of(snowflake, **{**account, "external_volume": f"{name}_2"})
        make_volume(connection, volume_of(here))
        make_volume(connection, volume_of(here))  # it is there, and of that place
        if way == "a new name":
            make_volume(connection, volume_of(elsewhere))  # which is as it was


def test_a_readers_role_is_made_by_the_statement_that_the_doctor_names(snowflake: CloudSnowflake) -> None:
    settings = settings_of(snowflake, login_role="ACCOUNTADMIN", role="readers_of_all")
    with ExitStack() as until_the_end:
        account = _Account(Clients(settings), until_the_end)
        account.log_in()
        with pytest.raises(MissingError, match="no such role") as raised:
            account.find_role("readers_of_all")

        snowflake.as_("USERADMIN", raised.value.todo.rstrip(";"))

        account.find_role("readers_of_all")
