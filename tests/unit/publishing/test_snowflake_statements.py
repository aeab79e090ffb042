from __future__ import annotations

import re
from pathlib import Path

import pytest

from frazil.errors import ConfigureError
from frazil.formats.columns.columns import metadata_names
from frazil.publishing.snowflake import statements
from frazil.publishing.snowflake.governance.grants import grant, rights_to_read, show_grants_to
from frazil.publishing.snowflake.governance.protection import describe_table, set_policy
from frazil.publishing.snowflake.login import connection_arguments
from frazil.publishing.snowflake.statements import (
    Integration,
    Relation,
    Volume,
    check_location,
    integration_of,
    volume_of,
)
from frazil.publishing.views.queries import clean_sql
from frazil.quoting import double_quoted
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil_local.snowflake.answers import Refused
from frazil_local.snowflake.language.parsing import parse_statement
from frazil_local.snowflake.language.statements import (
    Alter,
    Call,
    Create,
    Describe,
    Drop,
    DropDatabase,
    GetTags,
    Grant,
    Refresh,
    SetPolicy,
    SetTags,
    Show,
    ShowGrants,
    Use,
)
from frazil_local.snowflake.language.tokens import parse_name

PAGE = Path(__file__).parents[3] / "docs" / "snowflake.md"
TABLE = Relation("FRAZIL", "LOCAL", "TRADES")
VIEW = Relation("FRAZIL", "LOCAL", "TRADES_CLEAN")
ROLE_ARN = "arn:aws:iam::123456789012:role/reader"
VOLUME = Volume("FRAZIL_VOLUME", "s3://warehouse/", ROLE_ARN)
INTEGRATION = Integration("FRAZIL_GLUE", "local", ROLE_ARN, "us-east-1")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("DROP DATABASE IF EXISTS d", DropDatabase("D", if_exists=True)),
        ("drop table a.b", Drop("ICEBERG TABLE", ("A", "B"), plain=True)),
        ("DROP ICEBERG TABLE IF EXISTS t;", Drop("ICEBERG TABLE", ("T",), if_exists=True)),
        ('desc user "mixed Case"', Describe("USER", ("mixed Case",))),
        ("describe table t", Describe("ICEBERG TABLE", ("T",), plain=True)),
        ('ALTER ICEBERG TABLE a."b".c REFRESH', Refresh(("A", "b", "C"))),
        ("alter user u unset rsa_public_key_2", Alter("USER", ("U",), unset=("RSA_PUBLIC_KEY_2",))),
        (
            "alter iceberg table t set tag a.b.\"c\" = 'x', d = 'y'",
            SetTags(("T",), ((("A", "B", "c"), "x"), (("D",), "y"))),
        ),
        ("select system$get_tag('a.b.c', 't', 'table')", GetTags(((("A", "B", "C"), ("T",), ""),))),
        ("select system$get_tag('a', 't.c', 'column')", GetTags(((("A",), ("T",), "C"),))),
        ("alter iceberg table t modify column c set tag a = 'x'", SetTags(("T",), ((("A",), "x"),), "C")),
        (
            "alter iceberg table t modify column c set masking policy a.b.p force",
            SetPolicy(("T",), "C", ("A", "B", "P")),
        ),
        ("alter iceberg table t modify column c unset masking policy", SetPolicy(("T",), "C")),
        (
            "create masking policy p as (v string) returns string -> case when true then v else '*' end",
            Create("MASKING POLICY", ("P",)),
        ),
        ("use role r", Use("ROLE", "R")),
        ("revoke role r from user u", Grant(("USAGE",), "ROLE", ("R",), "USER", "U", revoke=True)),
        (
            "grant select, insert on all tables in schema a.b to r",
            Grant(("SELECT", "INSERT"), "ALL TABLES IN SCHEMA", ("A", "B"), "ROLE", "R"),
        ),
        ("show grants to role r", ShowGrants("TO", "ROLE", ("R",))),
        ("show future grants to role r", ShowGrants("TO", "ROLE", ("R",), future=True)),
        (
            "grant usage on warehouse w to role r with grant option",
            Grant(("USAGE",), "WAREHOUSE", ("W",), "ROLE", "R", option=True),
        ),
        (
            "revoke grant option for usage on warehouse w from role r",
            Grant(("USAGE",), "WAREHOUSE", ("W",), "ROLE", "R", revoke=True, option=True),
        ),
        (
            "SHOW ICEBERG TABLES LIKE 'x%' IN SCHEMA a.b",
            Show("ICEBERG TABLE", like="x%", scope=("A", "B")),
        ),
    ],
)
def test_a_statement_that_fakesnow_lacks_is_read(sql: str, expected: object) -> None:
    assert parse_statement(sql) == expected


@pytest.mark.parametrize(
    "sql",
    ["select 1", "create table t (a int)", "use database d", "show databases", ""],
)
def test_all_other_statements_are_left_to_fakesnow(sql: str) -> None:
    assert parse_statement(sql) is None


@pytest.mark.parametrize(
    "sql",
    [
        "create user",
        "create role r surprise",
        "alter user u frobnicate",
        "create user u rsa_public_key",
        "create external volume v storage_locations = ((name = 'x')",
        "drop role r and more",
        "select 'no end",
    ],
)
def test_a_statement_of_ours_that_cannot_be_read_is_a_syntax_error(sql: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_statement(sql)

    assert (refused.value.number, refused.value.state) == (1003, "42000")


def test_a_string_keeps_its_quotes_and_a_comment_is_no_part_of_a_statement() -> None:
    sql = "create role r /* why */ comment = 'it''s' -- the end"

    assert parse_statement(sql) == Create("ROLE", ("R",), {"COMMENT": "it's"})


def test_a_volume_that_the_engine_makes_is_read_with_its_location() -> None:
    location = {
        "NAME": "FRAZIL_VOLUME_LOCATION",
        "STORAGE_PROVIDER": "S3",
        "STORAGE_BASE_URL": "s3://warehouse/",
        "STORAGE_AWS_ROLE_ARN": ROLE_ARN,
    }

    assert parse_statement(statements.create_volume(VOLUME)) == Create(
        "EXTERNAL VOLUME",
        ("FRAZIL_VOLUME",),
        {"STORAGE_LOCATIONS": (location,), "ALLOW_WRITES": "FALSE"},
        if_not_exists=True,
    )


def test_an_integration_that_the_engine_makes_names_glue_and_its_account() -> None:
    read = parse_statement(statements.create_integration(INTEGRATION))

    assert isinstance(read, Create)
    assert (read.kind, read.name) == ("CATALOG INTEGRATION", ("FRAZIL_GLUE",))
    assert read.properties["CATALOG_SOURCE"] == "GLUE"
    assert read.properties["GLUE_CATALOG_ID"] == "123456789012"


def test_a_table_that_the_engine_makes_names_its_glue_entry() -> None:
    sql = statements.create_table(TABLE, VOLUME, INTEGRATION, "local", "trades")

    assert parse_statement(sql) == Create(
        "ICEBERG TABLE",
        ("FRAZIL", "LOCAL", "TRADES"),
        {
            "EXTERNAL_VOLUME": "FRAZIL_VOLUME",
            "CATALOG": "FRAZIL_GLUE",
            "CATALOG_TABLE_NAME": "trades",
            "CATALOG_NAMESPACE": "local",
        },
        if_not_exists=True,
    )


def test_the_engine_asks_for_the_metadata_of_the_quoted_table() -> None:
    read = parse_statement(statements.table_information(TABLE))

    assert isinstance(read, Call)
    assert parse_name(read.argument) == ("FRAZIL", "LOCAL", "TRADES")


def test_a_role_that_may_read_is_granted_the_schema_and_the_rows() -> None:
    read = [parse_statement(grant(right, "READER")) for right in rights_to_read(TABLE, [VIEW])]

    assert [(g.privileges, g.on_kind, g.on_name) for g in read if isinstance(g, Grant)] == [
        (("USAGE",), "DATABASE", ("FRAZIL",)),
        (("USAGE",), "SCHEMA", ("FRAZIL", "LOCAL")),
        (("SELECT",), "TABLE", ("FRAZIL", "LOCAL", "TRADES")),
        (("SELECT",), "VIEW", ("FRAZIL", "LOCAL", "TRADES_CLEAN")),
    ]


def test_quotes_in_names_and_texts_cannot_end_them() -> None:
    assert str(Relation('a"b', "c", "d")) == '"a""b"."c"."d"'
    assert statements.text("a'b\\c") == "'a''b\\\\c'"


def clean(spec: TableSpec) -> str:
    columns = ["SYMBOL", "odd", *(name.upper() for name in metadata_names(spec))]
    return statements.create_view_as(VIEW, clean_sql(spec, str(TABLE), columns, double_quoted))


def test_a_view_lists_its_columns_as_they_are_spelled_and_none_of_frazils_own() -> None:
    assert clean(TableSpec(topic="t")) == (
        'CREATE OR REPLACE VIEW "FRAZIL"."LOCAL"."TRADES_CLEAN" COPY GRANTS '
        'AS SELECT "SYMBOL", "odd" FROM "FRAZIL"."LOCAL"."TRADES"'
    )


def test_each_statement_stands_on_its_page() -> None:
    statements_sent = (
        statements.create_volume(VOLUME), statements.create_integration(INTEGRATION),
        statements.create_table(TABLE, VOLUME, INTEGRATION, "local", "trades"),
        statements.table_information(TABLE), statements.create_view_as(VIEW, "SELECT 1"),
        statements.show_like("VIEWS", VIEW), statements.comments_in("FRAZIL", [VIEW]),
        statements.columns_in("FRAZIL", [TABLE, VIEW]), statements.link_status("LAKE"),
        statements.show_in("ICEBERG TABLES", "LAKE"), statements.get_tags([(TABLE, VIEW, "")]),
        statements.set_tags(TABLE, [(VIEW, "x")]),
        describe_table(TABLE), statements.show_like("ICEBERG TABLES", TABLE),
        statements.comment_on_view(VIEW, "It's"), show_grants_to("READER"),
        *(grant(right, "READER") for right in rights_to_read(TABLE, [VIEW])),
    )  # fmt: skip
    begin = re.compile(r"SELECT SYSTEM\S+?(?=\()|[A-Z_, ]+")
    begun = {match[0].strip() for sql in statements_sent if (match := begin.match(sql))}

    assert len(begun) == len(statements_sent)
    assert [words for words in begun if words not in PAGE.read_text()] == []
    on_column = set_policy(TABLE, "EMAIL", VIEW).partition(" MODIFY")[2]
    assert re.sub(r' "\S+', " ...", f"MODIFY{on_column}") in PAGE.read_text()


def test_a_view_leaves_out_rows_that_are_not_there_now() -> None:
    sql = clean(TableSpec(topic="t", mode="cdc", delete="soft"))

    assert sql.endswith('AS SELECT "SYMBOL", "odd" FROM "FRAZIL"."LOCAL"."TRADES" WHERE NOT "$$DELETED"')


def test_tables_of_rest_and_of_glue_lie_in_volumes_of_their_own() -> None:
    rest, glue = (volume_of(Settings.load(catalog=kind)) for kind in ("rest", "glue"))

    assert (rest.name, rest.base_url) == ("FRAZIL_VOLUME", "s3://warehouse/")
    assert (glue.name, glue.base_url) == ("FRAZIL_GLUE_VOLUME", "s3://lake/warehouse/")


def test_a_table_outside_of_its_volume_is_refused_before_snowflake_is_asked() -> None:
    check_location(VOLUME, "s3://warehouse/local/trades/metadata/v1.metadata.json")

    with pytest.raises(ConfigureError, match="FRAZIL_SNOWFLAKE__STORAGE_BASE_URL"):
        check_location(VOLUME, "s3://warehouse2/local/trades/metadata/v1.metadata.json")


@pytest.mark.parametrize("arn", [None, "reader", "arn:aws:iam:::role/reader"])
def test_the_role_is_asked_for_where_something_must_be_made_with_it(arn: str | None) -> None:
    settings = Settings.load(snowflake={"aws_role_arn": arn})

    with pytest.raises(ConfigureError, match="FRAZIL_SNOWFLAKE__AWS_ROLE_ARN"):
        statements.create_volume(volume_of(settings))
    with pytest.raises(ConfigureError, match="FRAZIL_SNOWFLAKE__AWS_ROLE_ARN"):
        statements.create_integration(integration_of(settings, "local"))


def test_the_account_is_asked_for() -> None:
    with pytest.raises(ConfigureError, match="FRAZIL_SNOWFLAKE__ACCOUNT"):
        connection_arguments(Settings.load())
