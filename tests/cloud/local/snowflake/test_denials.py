"""The stand-in denies what Snowflake denies (reference: "Access control privileges"), and no more."""

from __future__ import annotations

from itertools import count

import pytest

from kit.clouds.cloud_snowflake import CloudSnowflake, User

OK = "ok"
INSUFFICIENT = "003001 42501"
HIDDEN = "002003 02000"
NOT_GRANTED = "003013 42501"
NO_WAREHOUSE = "000606 57P03"
STRANGE = "001003 42000"
INVALID = "001008 22023"

VOLUME = (
    "create external volume {name} storage_locations = ((name = 'l' storage_provider = 'S3' "
    "storage_base_url = 's3://lake/' storage_aws_role_arn = 'arn:aws:iam::123456789012:role/reader'))"
)
INTEGRATION = (
    "create catalog integration {name} catalog_source = glue table_format = iceberg "
    "glue_aws_role_arn = 'arn:aws:iam::123456789012:role/reader' glue_catalog_id = '1' enabled = true"
)
BY_REST = (
    "create catalog integration {name} catalog_source = iceberg_rest table_format = iceberg "
    "rest_config = (catalog_uri = 'http://127.0.0.1:9') rest_authentication = (type = oauth "
    "oauth_client_id = 'i' oauth_client_secret = 's' oauth_allowed_scopes = ('a')) enabled = true"
)
READ = "select count(*) from db.{name}.trades"

_NUMBER = count()


class Shop:
    """Objects of a test's own: a schema with one table, a role, and its user."""

    def __init__(self, standin: CloudSnowflake) -> None:
        self.standin, self.name = standin, f"shop{next(_NUMBER)}"
        self.make("create schema db.{name}", "create table db.{name}.trades (a int)")
        self.make("create role {name}_role", role="USERADMIN")
        self.user: User = standin.user(f"{self.name}_user", f"{self.name}_role", DEFAULT_WAREHOUSE="wh")

    def make(self, *statements: str, role: str = "SYSADMIN") -> None:
        self.standin.as_(role, *(each.format(name=self.name) for each in statements))

    def asks(self, *statements: str) -> str:
        return self.user.says(*(each.format(name=self.name) for each in statements))


@pytest.fixture
def shop(lonely: CloudSnowflake) -> Shop:
    return Shop(lonely)


SOURCES = (
    "grant usage on warehouse wh to role {name}_role",
    "grant usage on database db to role {name}_role",
)
SCHEMA = "grant usage on schema db.{name} to role {name}_role"
SELECT = "grant select on table db.{name}.trades to role {name}_role"


def test_the_grants_of_the_sources_do_not_let_their_user_read_its_table(shop: Shop) -> None:
    shop.make(*SOURCES)
    assert shop.asks(READ) == HIDDEN
    shop.make(SCHEMA)
    assert shop.asks(READ) == HIDDEN
    shop.make(SELECT)
    assert shop.asks(READ) == OK


@pytest.mark.parametrize(
    ("taken", "refused"),
    [
        ("revoke usage on warehouse wh from role {name}_role", INSUFFICIENT),
        ("revoke usage on database db from role {name}_role", HIDDEN),
        ("revoke usage on schema db.{name} from role {name}_role", HIDDEN),
        ("revoke select on table db.{name}.trades from role {name}_role", HIDDEN),
        ("revoke role {name}_role from user {name}_user", "390189 08001"),
    ],
)
def test_each_grant_of_a_reader_is_needed(shop: Shop, taken: str, refused: str) -> None:
    shop.make(*SOURCES, SCHEMA, SELECT)
    shop.make(taken, role="ACCOUNTADMIN")

    assert shop.asks(READ) == refused


@pytest.mark.parametrize(
    ("role", "statement", "answer"),
    [
        ("SYSADMIN", "create user {name}_x", INSUFFICIENT),
        ("SYSADMIN", "create role {name}_x", INSUFFICIENT),
        ("USERADMIN", "create role {name}_x", OK),
        ("SECURITYADMIN", "create user {name}_x", OK),
        ("USERADMIN", "create warehouse {name}_x", INSUFFICIENT),
        ("USERADMIN", "create database {name}_x", INSUFFICIENT),
        ("SYSADMIN", "create database {name}_x", OK),
        ("SYSADMIN", VOLUME.replace("{name}", "{name}_x"), INSUFFICIENT),
        ("SYSADMIN", INTEGRATION.replace("{name}", "{name}_x"), INSUFFICIENT),
        ("ACCOUNTADMIN", VOLUME.replace("{name}", "{name}_x"), OK),
        ("ACCOUNTADMIN", INTEGRATION.replace("{name}", "{name}_x"), OK),
        ("USERADMIN", "drop warehouse wh", INSUFFICIENT),
        ("USERADMIN", "drop database db", INSUFFICIENT),
        ("SYSADMIN", "drop user {name}_user", INSUFFICIENT),
        ("SYSADMIN", "alter user {name}_user unset rsa_public_key", INSUFFICIENT),
        ("SYSADMIN", "grant role {name}_role to role sysadmin", INSUFFICIENT),
        ("SYSADMIN", "grant usage on warehouse wh to role {name}_role", OK),
        ("SECURITYADMIN", "grant usage on warehouse wh to role {name}_role", OK),
        ("SYSADMIN", "grant usage on schema db.other to role {name}_role", HIDDEN),
    ],
)
def test_what_a_role_of_snowflake_may(shop: Shop, role: str, statement: str, answer: str) -> None:
    boss = User(shop.standin, "boss", shop.standin.key)

    assert boss.says(statement.format(name=shop.name), role=role) == answer


@pytest.mark.parametrize(
    ("statement", "answer"),
    [
        ("create role x", INSUFFICIENT),
        ("create database x", INSUFFICIENT),
        ("create schema db.x", INSUFFICIENT),
        ("create table db.{name}.x (a int)", INSUFFICIENT),
        ("create view db.{name}.x as select 1 as a", INSUFFICIENT),
        ("insert into db.{name}.trades values (2)", HIDDEN),
        (
            "merge into db.{name}.trades t using (select 1 a) s on t.a = s.a when matched then delete",
            HIDDEN,
        ),
        ("drop table db.{name}.trades", INSUFFICIENT),
        ("drop schema db.{name}", INSUFFICIENT),
        ("drop database db", INSUFFICIENT),
        ("alter database db set comment = 'mine'", INSUFFICIENT),
        ("drop role {name}_role", INSUFFICIENT),
        ("drop user {name}_user", INSUFFICIENT),
        ("use role accountadmin", NOT_GRANTED),
        ("grant role accountadmin to user {name}_user", INSUFFICIENT),
        ("grant select on table db.{name}.trades to role {name}_role", INSUFFICIENT),
        ("desc user boss", HIDDEN),
        ("desc user {name}_user", OK),
    ],
)
def test_a_reader_may_nothing_else(shop: Shop, statement: str, answer: str) -> None:
    shop.make(*SOURCES, SCHEMA)

    assert shop.asks(statement) == answer


def test_a_query_needs_a_warehouse(shop: Shop) -> None:
    shop.make(SOURCES[1], SCHEMA, SELECT)
    shop.make("alter user {name}_user unset default_warehouse", role="ACCOUNTADMIN")

    assert shop.asks(READ) == NO_WAREHOUSE
    assert shop.asks("use warehouse wh") == "002043 02000"
    shop.make(SOURCES[0])
    assert shop.asks("use warehouse wh", READ) == OK


def test_a_view_is_read_with_the_rights_of_its_owner(shop: Shop) -> None:
    shop.make(*SOURCES, SCHEMA, "create view db.{name}.shown as select a from db.{name}.trades")
    assert shop.asks("select * from db.{name}.shown") == HIDDEN
    shop.make("grant select on view db.{name}.shown to role {name}_role")

    assert shop.asks("select * from db.{name}.shown") == OK
    assert shop.asks(READ) == HIDDEN


def test_a_role_inherits_what_was_granted_to_it(shop: Shop) -> None:
    shop.make("create role {name}_readers", role="USERADMIN")
    shop.make(*(each.replace("{name}_role", "{name}_readers") for each in (*SOURCES, SCHEMA, SELECT)))
    assert shop.asks(READ) != OK
    shop.make("grant role {name}_readers to role {name}_role", role="USERADMIN")

    assert shop.asks(READ) == OK


def test_public_is_everybody_s_role(shop: Shop) -> None:
    shop.make(*(each.replace("{name}_role", "public") for each in (*SOURCES, SCHEMA, SELECT)))

    assert shop.asks(READ) == OK


def test_what_a_custom_role_owns_is_out_of_reach_until_the_role_goes_to_sysadmin(shop: Shop) -> None:
    shop.make(SOURCES[1], SCHEMA, "grant create table on schema db.{name} to role {name}_role")
    assert shop.asks("create table db.{name}.own (a int)") == OK
    boss = User(shop.standin, "boss", shop.standin.key)
    drop = f"drop table db.{shop.name}.own"

    assert boss.says(drop, role="SYSADMIN") == INSUFFICIENT
    shop.make("grant role {name}_role to role sysadmin", role="SECURITYADMIN")
    assert boss.says(drop, role="SYSADMIN") == OK


def test_what_a_dropped_role_owned_belongs_to_who_dropped_it(shop: Shop) -> None:
    shop.make(SOURCES[1], SCHEMA, "grant create table on schema db.{name} to role {name}_role")
    assert shop.asks("create table db.{name}.own (a int)") == OK
    shop.make("drop role {name}_role", role="ACCOUNTADMIN")

    shop.make("drop table db.{name}.own", role="ACCOUNTADMIN")


def test_ownership_can_be_handed_over(shop: Shop) -> None:
    shop.make("grant ownership on table db.{name}.trades to role {name}_role copy current grants")

    assert shop.asks("drop table db.{name}.trades") == OK


def test_show_lists_what_a_role_may_use_with_comment_and_owner(shop: Shop) -> None:
    shop.make(
        "create schema db.{name}_2", "alter schema db.{name} set comment = 'frazil:x'", SOURCES[1], SCHEMA
    )
    own = shop.standin.connect(user=shop.user.name, private_key=shop.user.key.private_der)
    with own as connection:
        shown = connection.cursor().execute(f"show schemas like '{shop.name}%' in database db").fetchall()

    assert [(row[1], row[3], row[4]) for row in shown] == [(shop.name.upper(), "SYSADMIN", "frazil:x")]


def test_what_a_user_does_not_have_can_t_be_unset_either(shop: Shop) -> None:
    boss = User(shop.standin, "boss", shop.standin.key)
    unset = f"alter user {shop.user.name} unset"

    assert boss.says(f"{unset} rsa_public_key_3", role="ACCOUNTADMIN") == "001003 42000"
    assert boss.says(f"{unset} comment", role="ACCOUNTADMIN") == OK


@pytest.mark.parametrize(
    ("statement", "was", "instead", "answer"),
    [
        (VOLUME, "storage_locations", "nonsense = '1' storage_locations", STRANGE),
        (VOLUME, "name = 'l'", "name = 'l' nonsense = '1'", STRANGE),
        (VOLUME, "name = 'l'", "name = 'l' encryption = (type = 'NONSENSE')", INVALID),
        (VOLUME, "name = 'l'", "name = 'l' encryption = (nonsense = '1')", STRANGE),
        (VOLUME, "name = 'l'", "name = 'l' encryption = (type = 'AWS_SSE_KMS' kms_key_id = 'k')", OK),
        (VOLUME, "s3://lake/", "s3://la.ke/", INVALID),
        (VOLUME, "s3://lake/", "https://lake/", INVALID),
        (INTEGRATION, "enabled = true", "enabled = true nonsense = '1'", STRANGE),
        (INTEGRATION, "enabled = true", "enabled = perhaps", INVALID),
        (INTEGRATION, "enabled = true", "enabled = true refresh_interval_seconds = 5", INVALID),
        (INTEGRATION, "enabled = true", "enabled = true rest_config = (catalog_uri = 'u')", STRANGE),
        (BY_REST, "enabled = true", "enabled = true", OK),
        (BY_REST, "enabled = true", "enabled = true glue_region = 'us-east-1'", STRANGE),
        (BY_REST, "rest_config = (", "rest_config = (nonsense = '1' ", STRANGE),
        (BY_REST, "rest_config = (", "rest_config = (catalog_api_type = nonsense ", INVALID),
        (BY_REST, "rest_config = (", "rest_config = (access_delegation_mode = nonsense ", INVALID),
        (BY_REST, "(type = oauth", "(type = oauth nonsense = '1'", STRANGE),
        (BY_REST, "(type = oauth", "(type = oauth sigv4_iam_role = 'r'", STRANGE),
        (BY_REST, "(type = oauth", "(type = nonsense", INVALID),
        ("create warehouse {name}", "{name}", "{name} nonsense = 1", STRANGE),
        ("create warehouse {name}", "{name}", "{name} warehouse_size = huge", INVALID),
        ("create warehouse {name}", "{name}", "{name} scaling_policy = nonsense", INVALID),
        ("create warehouse {name}", "{name}", "{name} auto_suspend = nonsense", INVALID),
        ("create warehouse {name}", "{name}", "{name} auto_suspend = null scaling_policy = economy", OK),
        ("create user {name}", "{name}", "{name} type = nonsense", INVALID),
        ("create user {name}", "{name}", "{name} nonsense = '1'", STRANGE),
        ("alter user {name}_user set comment = 'x'", "comment", "rsa_public_key_3", STRANGE),
        ("alter role {name}_role set comment = 'x'", "comment", "nonsense", STRANGE),
        ("grant usage on warehouse wh to role {name}_role", "usage", "nonsense", STRANGE),
        ("grant usage on warehouse wh to role {name}_role", "usage", "select", STRANGE),
        ("grant usage on schema db.{name} to role {name}_role", "usage", "create nonsense", STRANGE),
    ],
)
def test_what_snowflake_does_not_know_is_refused(
    shop: Shop, statement: str, was: str, instead: str, answer: str
) -> None:
    boss = User(shop.standin, "boss", shop.standin.key)
    assert statement.count(was) == 1

    assert boss.says(statement.replace(was, instead).format(name=shop.name), role="ACCOUNTADMIN") == answer


@pytest.mark.parametrize(
    ("made", "kind", "change", "answer"),
    [
        (VOLUME, "external volume", "allow_writes = false", OK),
        (VOLUME, "external volume", "storage_locations = ()", STRANGE),
        (INTEGRATION, "catalog integration", "enabled = false", OK),
        (INTEGRATION, "catalog integration", "glue_aws_role_arn = 'r'", STRANGE),
        (INTEGRATION, "catalog integration", "catalog_namespace = 'n'", STRANGE),
    ],
)
def test_what_is_fixed_can_t_be_altered(shop: Shop, made: str, kind: str, change: str, answer: str) -> None:
    boss = User(shop.standin, "boss", shop.standin.key)
    shop.make(made, role="ACCOUNTADMIN")

    assert boss.says(f"alter {kind} {shop.name} set {change}", role="ACCOUNTADMIN") == answer
