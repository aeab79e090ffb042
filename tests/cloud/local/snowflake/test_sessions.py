"""A session begins where its user works (DEFAULT_NAMESPACE in Snowflake's reference of CREATE USER)."""

from __future__ import annotations

from kit.clouds.cloud_snowflake import CloudSnowflake

NO_CURRENT_DATABASE = "090105 22000"


def test_a_session_begins_in_the_default_namespace_of_its_user(lonely: CloudSnowflake) -> None:
    lonely.as_("SYSADMIN", "create schema db.home", "create table db.home.trades (a int)")
    user = lonely.user("homely", "SYSADMIN", DEFAULT_NAMESPACE="db.home", DEFAULT_WAREHOUSE="wh")

    assert user.says("select * from trades") == "ok"


def test_a_namespace_that_is_not_there_is_none(lonely: CloudSnowflake) -> None:
    user = lonely.user("homeless", "SYSADMIN", DEFAULT_NAMESPACE="nowhere.home", DEFAULT_WAREHOUSE="wh")

    assert user.says("select 1") == "ok"
    assert user.says("select * from trades") == NO_CURRENT_DATABASE
