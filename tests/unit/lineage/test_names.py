"""Datasets are named as OpenLineage's own library names them."""

from __future__ import annotations

import pytest
from openlineage.client.naming.dataset import S3, AWSGlue, DatasetNaming, Kafka, Snowflake

from frazil.publishing.target import Shown
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil_lineage.names import DatasetName, catalog_name, public, stored_name, target_name, topic_name

TRADES = TableName("market", "trades")
SETTINGS = Settings().with_changes(
    kafka={"bootstrap_servers": "SASL_SSL://one.example:9094, two.example:9094"},
    aws={"region": "eu-west-1"},
    glue={"catalog_id": "210987654321"},
    snowflake={"account": "acme-prod"},
    rest={"uri": "https://frazil:hush@catalog.example:8181/iceberg?token=hush"},
)


def named(by: DatasetNaming) -> DatasetName:
    return DatasetName(by.get_namespace(), by.get_name())


def shown(*path: str, account: str = "") -> Shown:
    return Shown(path, ("iceberg",), "", "s3://lake/v1.metadata.json", account=account)


def test_a_topic_is_named_by_the_first_broker() -> None:
    assert topic_name("trades", SETTINGS) == named(Kafka("one.example", "9094", "trades"))


@pytest.mark.parametrize("end", ["", "/"])
def test_an_iceberg_table_is_named_by_its_location(end: str) -> None:
    assert stored_name(f"s3://lake/warehouse/trades{end}") == named(S3("lake", "warehouse/trades"))
    assert stored_name(f"file:///tmp/lake/trades{end}") == DatasetName("file", "/tmp/lake/trades")


def test_an_entry_of_glue_is_named_by_the_account_that_glue_answers() -> None:
    entry = target_name(shown("glue", "market", "trades", account="123456789012"), SETTINGS)

    assert entry == named(AWSGlue("eu-west-1", "123456789012", "market", "trades"))


def test_a_table_of_snowflake_is_named_by_the_account() -> None:
    table = target_name(shown("snowflake", "frazil", "market", "trades"), SETTINGS)

    assert table == named(Snowflake("acme", "prod", "FRAZIL", "MARKET", "TRADES"))


def test_the_catalog_s_own_name_of_a_table_has_no_secret_of_the_catalog_s_address() -> None:
    of_rest, of_glue = (catalog_name(TRADES, SETTINGS.with_changes(catalog=c)) for c in ("rest", "glue"))

    assert of_rest == DatasetName("https://catalog.example:8181/iceberg", "market.trades")
    assert of_glue == named(AWSGlue("eu-west-1", "210987654321", "market", "trades"))
    assert public("http://127.0.0.1:8181") == "http://127.0.0.1:8181"
