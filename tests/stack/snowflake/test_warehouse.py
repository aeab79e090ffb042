"""The engine's tables in Snowflake: made, refreshed, read, and refused with a reason."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pyiceberg.types import LongType

from frazil.checks.targets.drift import Drift
from frazil.checks.targets.finding import find_drift
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import (
    ConfigureError,
    DifferentError,
    FrazilError,
    MissingError,
    PartDownError,
    RepairError,
)
from frazil.publishing.snowflake.connection import open_snowflake, rows
from frazil.publishing.snowflake.tables import Snowflake
from frazil.settings.profile import Settings
from frazil.spec.names import Things, things
from frazil.spec.topic import TableSpec
from kit.readers.targets import read_snowflake, snowflake_path, sync_snowflake
from kit.readers.trades import Trades, make_trades


def query(settings: Settings, sql: str) -> list[tuple[Any, ...]]:
    with open_snowflake(settings) as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return [tuple(row) for row in cursor.fetchall()]


def with_settings(connections: Connections, **changed: Any) -> Connections:
    return Clients(connections.settings.with_changes(snowflake=changed))


def view_of(names: Things) -> str:
    return ".".join(snowflake_path(names)[1:]) + "_clean"


def test_a_table_is_made_with_all_that_it_needs(connections: Connections, trades: Trades) -> None:
    state = sync_snowflake(connections, trades.names)

    assert state.facts["made_now"]
    assert state.rows == 1
    assert state.metadata_location == trades.table.metadata_location
    name = trades.names.table
    assert state.name == f"FRAZIL.{name.namespace}.{name.table}".upper()
    assert state.facts["view"] == f"{state.name}_CLEAN"
    assert query(connections.settings, f'select symbol, "$$offset" from {state.name}') == [("ZTEST", 7)]


def test_the_view_beside_the_table_has_no_metadata_columns(connections: Connections, trades: Trades) -> None:
    sync_snowflake(connections, trades.names)

    assert query(connections.settings, f"select * from {view_of(trades.names)}") == [("ZTEST", 0.5)]


def test_a_new_snapshot_is_seen_after_the_next_publication_and_not_before(
    connections: Connections, trades: Trades
) -> None:
    first = sync_snowflake(connections, trades.names)
    trades.append("ZWZZT")
    trades.show()
    stale = read_snowflake(connections, trades.names)
    second = sync_snowflake(connections, trades.names)

    assert stale
    assert (stale.rows, stale.metadata_location) == (1, first.metadata_location)
    assert second.changed
    assert second.waited is not None
    assert not second.facts["made_now"]
    assert (second.rows, second.metadata_location) == (2, trades.table.metadata_location)
    assert read_snowflake(connections, trades.names) == replace(
        second, changed=False, waited=None, facts={**second.facts, "made_now": False}
    )


def test_a_table_that_is_shown_already_is_not_refreshed_and_said_to_be_as_it_was(
    connections: Connections, trades: Trades
) -> None:
    first = sync_snowflake(connections, trades.names)

    second = sync_snowflake(connections, trades.names)

    assert (first.changed, second.changed) == (True, False)
    assert second.metadata_location == first.metadata_location


def test_a_table_that_snowflake_refreshes_itself_is_left_to_frazil_by_the_statement_that_the_error_names(
    connections: Connections, trades: Trades
) -> None:
    state = sync_snowflake(connections, trades.names)
    rarely = "alter catalog integration frazil_glue set refresh_interval_seconds = 86400"
    query(connections.settings, rarely)
    query(connections.settings, f"alter iceberg table {state.name} set auto_refresh = true")
    trades.append("ZWZZT")
    trades.show()

    with pytest.raises(RepairError, match=r"AUTO_REFRESH of .* is RUNNING") as refused:
        sync_snowflake(connections, trades.names)
    query(connections.settings, str(refused.value.todo).partition(" leaves")[0])

    assert sync_snowflake(connections, trades.names).rows == 2


def test_a_table_that_glue_owns_is_shown_from_a_volume_of_its_own(
    connections: Connections, fresh_name: str
) -> None:
    trades = make_trades(Clients(connections.settings.with_changes(catalog="glue")), fresh_name)
    state = sync_snowflake(trades.connections, trades.names)

    listed = query(connections.settings, f"show iceberg tables like '{state.path[-1].upper()}'")
    assert (state.rows, state.metadata_location) == (1, trades.table.metadata_location)
    assert [row[5] for row in listed] == ["FRAZIL_GLUE_VOLUME"]


def test_the_view_gets_the_columns_that_the_table_gets(connections: Connections, trades: Trades) -> None:
    sync_snowflake(connections, trades.names)
    with trades.table.update_schema() as change:
        change.add_column("price", LongType())
    trades.show()
    sync_snowflake(connections, trades.names)

    rows = query(connections.settings, f"select symbol, price from {view_of(trades.names)}")
    assert rows == [("ZTEST", None)]


def test_whoever_may_read_the_view_still_may_when_it_is_replaced(
    connections: Connections, trades: Trades, fresh_name: str
) -> None:
    state, role = sync_snowflake(connections, trades.names), f"{fresh_name}_reader".upper()
    query(connections.settings, f"create role {role}")
    query(connections.settings, f"grant select on view {view_of(trades.names)} to role {role}")
    with trades.table.update_schema() as change:
        change.add_column("price", LongType())
    trades.show()
    sync_snowflake(connections, trades.names)

    values = [row[1:4] for row in query(connections.settings, f"show grants to role {role}")]
    columns = query(connections.settings, f"select symbol, price from {view_of(trades.names)}")
    assert values == [("SELECT", "VIEW", state.facts["view"])]
    assert columns == [("ZTEST", None)]


def test_the_views_say_what_the_spec_says_also_after_somebody_said_something_else(
    connections: Connections, trades: Trades
) -> None:
    name = trades.names.table
    labels = {"description": "A customer's\n trades.", "owners": ("team:desk", "ann@example.com")}
    spec = TableSpec(topic="any", namespace=name.namespace, table=name.table, **labels)  # type: ignore[arg-type]
    target, view = Snowflake(spec, connections.settings), view_of(trades.names)
    comment = "A customer's trades. Owners: team:desk, ann@example.com."
    asked = (
        "select comment from frazil.information_schema.tables "
        f"where table_schema = '{name.namespace.upper()}' and table_name = '{name.table.upper()}_CLEAN'"
    )

    target.sync(connections)
    comments = query(connections.settings, asked)
    query(connections.settings, f"comment on view {view} is 'mine'")
    (differs,) = [each for each in find_drift([spec], connections) if each.target == "snowflake"]
    target.sync(connections)
    (agrees,) = [each for each in find_drift([spec], connections) if each.target == "snowflake"]

    assert comments == query(connections.settings, asked) == [(comment,)]
    assert (differs.state, agrees.state) == ("labels", "in step")
    assert f"_clean is mine and should be {comment[:20]}" in differs.why


def test_tags_of_the_spec_are_set_on_the_table_and_only_those_that_differ(
    connections: Connections, trades: Trades, fresh_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain, tier = f"{fresh_name}_domain", f"{fresh_name}_tier"
    name, schema = trades.names.table, f"frazil.{trades.names.table.namespace}"
    own = with_settings(connections, tag_schema=schema)
    given = {"topic": "any", "namespace": name.namespace, "table": name.table}
    spec = TableSpec(**given, tags={domain: "desk", tier: "gold"})  # type: ignore[arg-type]
    table, tags, sent = f"{schema}.{name.table}", [f"{schema}.{tag}" for tag in spec.tags], []
    target = Snowflake(spec, own.settings)
    asked = "select " + ", ".join(f"system$get_tag('{tag}', '{table}', 'table')" for tag in tags)

    def drift() -> Drift:
        return next(each for each in find_drift([spec], own) if each.target == "snowflake")

    def heard(connection: Any, sql: str) -> Any:
        sent.append(sql)
        return rows(connection, sql)

    Snowflake(spec, connections.settings).sync(connections)
    lacking = drift()
    with pytest.raises(MissingError, match=domain.upper()):
        target.sync(own)
    for tag in tags:
        query(connections.settings, f"create tag {tag}")
    first = drift()
    target.sync(own)
    values, whole = query(connections.settings, asked), drift()
    query(connections.settings, f"alter iceberg table {table} set tag {tags[1]} = 'lead'")
    other = drift()
    monkeypatch.setattr("frazil.publishing.snowflake.governance.tags.rows", heard)
    target.sync(own)
    target.sync(own)

    assert (lacking.state, type(lacking.error)) == ("refused", MissingError)
    assert first.why.split("; ") == [
        f"tag {domain} is missing and should be desk", f"tag {tier} is missing and should be gold"
    ]  # fmt: skip
    assert (values, whole.state) == ([("desk", "gold")], "in step")
    assert (other.state, other.why) == ("labels", f"tag {tier} is lead and should be gold")
    assert [sql.count("SET TAG") for sql in sent] == [0, 1, 0]
    assert domain.upper() not in sent[1]
    assert query(connections.settings, asked) == [("desk", "gold")]


def test_columns_get_the_tags_and_masking_policies_of_the_spec_before_newer_rows_and_only_once(
    connections: Connections, trades: Trades, fresh_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag, policy, late = (f"{fresh_name}_{end}" for end in ("pii", "hide", "late"))
    name, schema, sent = trades.names.table, f"frazil.{trades.names.table.namespace}", list[str]()
    own = with_settings(connections, tag_schema=schema)
    given = {"topic": "any", "namespace": name.namespace, "table": name.table}
    policies = {"symbol": f"{schema}.{policy}", "price": f"{schema}.{late}"}
    spec = TableSpec(**given, column_tags={"symbol": {tag: "name"}}, column_policies=policies)  # type: ignore[arg-type]
    table, target = f"{schema}.{name.table}", Snowflake(spec, own.settings)

    def drift() -> Drift:
        return next(each for each in find_drift([spec], own) if each.target == "snowflake")

    def heard(connection: Any, sql: str) -> Any:
        sent.append(sql.removeprefix("ALTER ICEBERG TABLE ").split(" ", 1)[1])
        return rows(connection, sql)

    Snowflake(TableSpec(**given), connections.settings).sync(connections)  # type: ignore[arg-type]
    with pytest.raises(ConfigureError, match="no column price"):
        target.sync(own)
    with trades.table.update_schema() as change:
        change.add_column("price", LongType())
    trades.show()
    query(connections.settings, f"create tag {schema}.{tag}")
    with pytest.raises(MissingError, match=policy.upper()):
        target.sync(own)
    stale = target.read(own)
    for each in policies.values():
        query(connections.settings, f"create masking policy {each} as (v string) returns string -> '*'")
    for module in ("governance.tags", "governance.protection", "refreshing"):
        monkeypatch.setattr(f"frazil.publishing.snowflake.{module}.rows", heard)
    target.sync(own)
    first = [sql for sql in sent if "SET" in sql.split() or sql == "REFRESH"]
    sent.clear()
    target.sync(own)
    again = [sql for sql in sent if "SET" in sql.split() or sql == "REFRESH"]
    whole = drift()
    column = f"alter iceberg table {table} modify column symbol"
    query(connections.settings, f"{column} set tag {schema}.{tag} = 'x'")
    tagged = drift()
    query(connections.settings, f"{column} unset masking policy")
    unmasked = drift()
    target.sync(own)
    described = query(connections.settings, f"describe table {table}")

    assert stale
    assert stale.metadata_location != trades.table.metadata_location
    assert [sql.split(" SET ")[-1].split('."')[-1] for sql in first] == [
        f"{policy}\" FORCE".upper(), "REFRESH", f"{late}\" FORCE".upper()
    ]  # fmt: skip
    assert again == []
    masks = {column: each.upper() for column, each in policies.items()}
    assert (whole.state, tagged.state, unmasked.state) == ("in step", "labels", "policies")
    assert tagged.why == f"tag {tag} of column symbol is x and should be name"
    assert unmasked.why == f"the masking policy of column symbol is none and should be {masks['symbol']}"
    assert {row[0]: row[10] for row in described if row[10]} == masks
    value = f"select system$get_tag('{schema}.{tag}', '{table}.symbol', 'column')"
    assert query(connections.settings, value) == [("name",)]


def test_a_role_that_is_named_may_read_and_gets_back_only_what_it_lost(
    connections: Connections, trades: Trades, fresh_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    role, sent = f"{fresh_name}_reader".upper(), list[str]()
    query(connections.settings, f"create role {role}")
    own, name = with_settings(connections, role=role), trades.names.table
    spec = TableSpec(topic="any", namespace=name.namespace, table=name.table)
    state, listed = sync_snowflake(own, trades.names), f"show grants to role {role}"
    schema, view = state.name.rpartition(".")[0], state.facts["view"]

    def drift() -> Drift:
        return next(each for each in find_drift([spec], own) if each.target == "snowflake")

    def heard(connection: Any, sql: str) -> Any:
        sent.append(sql)
        return rows(connection, sql)

    granted = {row[1:4] for row in query(connections.settings, listed)}
    before = drift()
    query(connections.settings, f"revoke select on table {state.name} from role {role}")
    query(connections.settings, f"drop view {view}")
    query(connections.settings, f"create view {view} as select symbol, ratio from {state.name}")
    lost = drift()
    monkeypatch.setattr("frazil.publishing.snowflake.governance.grants.rows", heard)
    sync_snowflake(own, trades.names)
    after = drift()
    again, _ = list(sent), sync_snowflake(own, trades.names)

    assert granted == {
        ("USAGE", "DATABASE", "FRAZIL"),
        ("USAGE", "SCHEMA", schema),
        ("SELECT", "TABLE", state.name),
        ("SELECT", "VIEW", view),
    }
    assert granted == {row[1:4] for row in query(connections.settings, listed)}
    assert (before.state, lost.state, after.state) == ("in step", "grants", "in step")
    assert lost.why == f"role {role} lacks SELECT on table {state.name}, SELECT on view {view}"
    assert [sql.split(" ON ")[1].split()[0] for sql in again] == ["TABLE", "VIEW"]
    assert sent == again


def test_a_role_that_is_not_there_is_named(connections: Connections, trades: Trades) -> None:
    asking = with_settings(connections, role="nobody_made_it")

    with pytest.raises(MissingError, match="NOBODY_MADE_IT"):
        sync_snowflake(asking, trades.names)


def test_a_table_that_snowflake_lacks_is_not_shown(connections: Connections, trades: Trades) -> None:
    assert read_snowflake(connections, trades.names) is None


def test_publishing_a_table_that_is_not_there_makes_nothing(
    connections: Connections, fresh_name: str
) -> None:
    names = things(TableSpec(topic=fresh_name), connections.settings)

    with pytest.raises(MissingError):
        sync_snowflake(connections, names)
    assert read_snowflake(connections, names) is None


def test_a_table_that_glue_does_not_know_is_refused_with_its_glue_name(
    connections: Connections, trades: Trades
) -> None:
    names = trades.names
    connections.glue.delete_table(DatabaseName=names.table.namespace, Name=names.table.table)

    with pytest.raises(FrazilError, match=f"{names.table.namespace}.{names.table.table}"):
        sync_snowflake(connections, names)


def test_a_table_outside_of_the_volume_is_refused(connections: Connections, trades: Trades) -> None:
    elsewhere = with_settings(connections, storage_base_url="s3://elsewhere/")

    with pytest.raises(ConfigureError, match="s3://elsewhere/"):
        sync_snowflake(elsewhere, trades.names)


def test_a_volume_of_another_place_is_not_changed_silently(
    connections: Connections, trades: Trades, fresh_name: str
) -> None:
    other = f"{fresh_name}_volume"
    query(
        connections.settings,
        f"create external volume {other} storage_locations = ((name = 'l' storage_provider = 'S3' "
        "storage_base_url = 's3://elsewhere/' storage_aws_role_arn = 'arn'))",
    )

    with pytest.raises(DifferentError, match="s3://elsewhere/"):
        sync_snowflake(with_settings(connections, external_volume=other), trades.names)


def test_a_snowflake_that_does_not_answer_is_named_with_its_address(
    connections: Connections, trades: Trades, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.publishing.snowflake.login._LOGIN_SECONDS", 1)
    with pytest.raises(PartDownError, match=r"http://127\.0\.0\.1:9"):
        read_snowflake(with_settings(connections, port=9), trades.names)


def test_a_key_that_snowflake_does_not_know_is_refused_without_a_word_of_the_key(
    connections: Connections, trades: Trades, tmp_path: Path
) -> None:
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "other.p8").write_bytes(pem)
    stranger = with_settings(connections, private_key_path=tmp_path / "other.p8")

    with pytest.raises(ConfigureError, match="refuses the login") as refused:
        read_snowflake(stranger, trades.names)
    secret = base64.b64encode(key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))
    assert secret.decode()[60:100] not in str(refused.value)


def test_a_key_file_that_is_missing_is_named(
    connections: Connections, trades: Trades, tmp_path: Path
) -> None:
    lost = with_settings(connections, private_key_path=tmp_path / "lost.p8")

    with pytest.raises(ConfigureError, match=r"lost\.p8"):
        read_snowflake(lost, trades.names)
