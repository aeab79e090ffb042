"""The stand-in answers about Iceberg tables as Snowflake does, also where Snowflake says no."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import requests

from frazil.connections import Connections
from frazil.settings.profile import Settings
from kit.readers.trades import Trades
from kit.stack.standin import StandIn, access_sql, new_key, over_stack, volume_sql
from kit.tables.equality_deletes import with_equality_delete

NOT_THERE = (2003, "02000")


@pytest.mark.parametrize(
    "sql",
    [
        "desc user nobody",
        "drop role no_role",
        "desc external volume no_volume",
        "desc catalog integration no_integration",
        "alter iceberg table frz.s.no_table refresh",
        "drop iceberg table frz.s.no_table",
        "grant usage on schema frz.s to role no_role",
        "select system$get_iceberg_table_information('frz.s.no_table')",
        "select system$verify_external_volume('no_volume')",
    ],
)
def test_what_is_not_there_is_refused_as_snowflake_does(standin: StandIn, sql: str) -> None:
    refused = standin.refusal(sql)

    assert (refused.errno, refused.sqlstate) == NOT_THERE


@pytest.mark.parametrize("sql", ["selec 1", "create role", "select no_such_function(1)"])
def test_nonsense_is_refused_and_not_answered_with_what_the_connector_repeats(
    standin: StandIn, sql: str
) -> None:
    with standin.connect() as connection:
        answer = requests.post(
            f"http://127.0.0.1:{standin.port}/queries/v1/query-request",
            json={"sqlText": sql},
            headers={"Authorization": f'Snowflake Token="{connection.rest.token}"'},
            timeout=60,
        )

    assert answer.status_code == 200
    assert answer.json()["success"] is False
    assert standin.refusal(sql).msg


def test_verifying_a_volume_really_looks_into_s3(standin: StandIn) -> None:
    standin.rows(volume_sql("nowhere", "s3://no-such-bucket/"))
    good, bad = (
        standin.rows(f"select system$verify_external_volume('{name}')")[0][0] for name in ("v", "nowhere")
    )

    assert '"success": true' in good
    assert '"success": false' in bad
    assert "NoSuchBucket" in bad


def test_a_table_shows_iceberg_rows_and_metadata_columns(standin: StandIn, trades: Trades) -> None:
    name = f"frz.s.{trades.names.table.table}"
    standin.rows(trades.create_sql(name))

    query = f'select SYMBOL, ratio, "$$headers":h::varchar, "$$offset" from {name}'
    assert standin.rows(query) == [("ZTEST", 0.5, "00FF", 7)]
    assert standin.rows(f"select * from {name}") == [("ZTEST", 0.5, '{"h":"00FF"}', 7)]


def test_a_table_is_stale_until_it_is_refreshed(standin: StandIn, trades: Trades) -> None:
    name = f"frz.s.{trades.names.table.table}"
    standin.rows(trades.create_sql(name))
    trades.append("ZWZZT")
    trades.show()
    information = f"select system$get_iceberg_table_information('{name}')"
    before, stale = standin.rows(f"select count(*) from {name}"), standin.rows(information)
    standin.rows(f"alter iceberg table {name} refresh")

    assert before == [(1,)]
    assert trades.table.metadata_location not in stale[0][0]
    assert standin.rows(f"select count(*) from {name}") == [(2,)]
    assert trades.table.metadata_location in standin.rows(information)[0][0]


def test_a_table_is_listed_until_it_is_dropped(standin: StandIn, trades: Trades) -> None:
    short = trades.names.table.table
    listing = f"show iceberg tables like '{short}' in schema frz.s"
    standin.rows(trades.create_sql(f"frz.s.{short}"))
    shown = [row[1:4] for row in standin.rows(listing)]
    in_use = standin.refusal("drop external volume v")
    standin.rows(f"drop table frz.s.{short}")

    assert shown == [(short.upper(), "FRZ", "S")]
    assert short.upper() in str(in_use)
    assert standin.rows(listing) == []


def test_a_table_that_glue_does_not_know_is_refused(standin: StandIn) -> None:
    sql = (
        "create iceberg table frz.s.ghost external_volume = v catalog = g "
        "catalog_namespace = 'nowhere' catalog_table_name = 'ghost'"
    )

    assert "Glue table nowhere.ghost: EntityNotFoundException" in str(standin.refusal(sql))


def test_a_glue_table_of_another_type_is_refused(
    standin: StandIn, trades: Trades, connections: Connections
) -> None:
    database, table = trades.names.table.namespace, trades.names.table.table
    connections.glue.delete_table(DatabaseName=database, Name=table)
    connections.glue.create_table(DatabaseName=database, TableInput={"Name": table})

    refused = standin.refusal(trades.create_sql(f"frz.s.{table}"))

    assert "is not of type ICEBERG" in str(refused)


def test_a_table_outside_of_the_volume_is_refused(standin: StandIn, trades: Trades) -> None:
    standin.rows(volume_sql("elsewhere", "s3://elsewhere/"))

    refused = standin.refusal(trades.create_sql("frz.s.outside", volume="elsewhere"))

    assert "not below the active storage location s3://elsewhere/" in str(refused)


def test_equality_deletes_are_refused_and_the_table_stays_as_it_was(standin: StandIn, trades: Trades) -> None:
    name = f"frz.s.{trades.names.table.table}"
    standin.rows(trades.create_sql(name))
    trades.point_glue(with_equality_delete(trades.table))

    refused = standin.refusal(f"alter iceberg table {name} refresh")

    assert refused.errno == 91968
    assert standin.rows(f"select count(*) from {name}") == [(1,)]


@pytest.mark.nightly
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_everything_survives_a_restart(
    stack: Settings, tmp_path: Path, trades: Trades, how: signal.Signals
) -> None:
    key = new_key()
    with StandIn(tmp_path, over_stack(stack)) as standin:
        standin.rows(
            "create database d",
            "create schema d.s",
            "create table d.s.plain (a int)",
            "insert into d.s.plain values (3)",
            *access_sql(stack),
            trades.create_sql("d.s.ice"),
            "create view d.s.ice_clean as select symbol from d.s.ice",
            f"create user ann rsa_public_key = '{key.public}'",
            "create database gone",
            "drop database gone",
        )
        standin.stop(how)
        standin.start()

        assert standin.rows("select a from d.s.plain") == [(3,)]
        assert standin.rows("select * from d.s.ice_clean") == [("ZTEST",)]
        assert [row[1] for row in standin.rows("show databases")] == ["D"]
        with standin.connect("ann", private_key=key.private_der) as connection:
            assert connection.cursor().execute("select 1").fetchone() == (1,)
