"""The page of a table in a target's own console."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.publishing.targets import TARGETS
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec


def page_of(word: str, **settings: Any) -> str | None:
    spec = TableSpec(topic="orders", namespace="shop")
    return TARGETS[word](spec, Settings.load(**settings)).page


def test_a_glue_entry_has_a_page_in_the_console_of_its_account() -> None:
    assert page_of("glue", aws={"region": "eu-west-1"}, glue={"catalog_id": "210987654321"}) == (
        "https://eu-west-1.console.aws.amazon.com/glue/home?region=eu-west-1"
        "#/v2/data-catalog/tables/view/orders?database=shop&catalogId=210987654321"
    )


def test_a_table_of_snowflake_has_a_page_in_snowsight() -> None:
    assert page_of("snowflake", snowflake={"account": "ACME-Prod_1"}) == (
        "https://app.snowflake.com/acme/prod_1/#/data/databases/FRAZIL/schemas/SHOP/table/ORDERS"
    )


@pytest.mark.parametrize(
    ("word", "settings"),
    [
        ("glue", {"glue": {"endpoint": "http://127.0.0.1:1"}}),
        ("snowflake", {"snowflake": {"account": "acme-prod", "host": "127.0.0.1"}}),
        ("snowflake", {"snowflake": {"account": "xy12345.eu-west-1"}}),
    ],
)
def test_a_stand_in_and_a_private_link_have_no_page(word: str, settings: dict[str, Any]) -> None:
    assert page_of(word, **settings) is None
