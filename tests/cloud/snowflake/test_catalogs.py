"""Snowflake reads through Glue's Iceberg REST, and through any catalog that gives tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from frazil.errors import RepairError
from kit.clouds.cloud_snowflake import NOWHERE
from kit.clouds.in_snowflake import InSnowflake
from kit.wires.answering import Answer, serving

CLIENT = {"client_id": "frazil", "client_secret": "a secret of a client"}


@pytest.fixture(scope="module")
def by_rest(deployment: Callable[..., InSnowflake]) -> InSnowflake:
    """One whose catalogs are both asked by REST."""
    rest = {
        "uri": NOWHERE,
        "warehouse": "lake",
        "namespace": "shop",
        "secret": "polaris",
        "scopes": ["A", "B"],
    }
    shop = deployment(catalog="glue_rest", rest=rest)
    shop.clouds.secrets.put("polaris", CLIENT, {})
    shop.create()
    return shop


def answered(answers_given: dict[str, str]) -> Answer:
    return 200, {}, json.dumps(answers_given).encode()


@pytest.mark.nightly
def test_catalogs_are_proved_by_talking_to_them_and_removed_once_nobody_names_them(
    deployment: Callable[..., InSnowflake],
) -> None:
    with serving() as server:
        server.answers = {"/oauth/tokens": answered({"access_token": "t"}), "/v1/config": answered({})}
        rest = {"uri": server.url, "warehouse": "lake", "namespace": "shop", "secret": "polaris"}
        shop = deployment(catalog="glue_rest", rest=rest)
        shop.clouds.secrets.put("polaris", CLIENT, {})
        shop.create()

        assert shop.faults() == {}
        assert shop.changes() == {}
        described = shop.admin.query(f"DESC {shop.resources['snowflake/catalog_integration/rest']}")
        assert CLIENT["client_secret"] not in str(described)

        server.answers = {"/oauth/tokens": (401, {}, b"{}")}
        with pytest.raises(RepairError, match="can't use") as refused:
            shop.resources["snowflake/catalog_integration/rest"].verify({}, {})
        assert CLIENT["client_secret"] not in str(refused.value)
        server.answers = {"/oauth/tokens": answered({"access_token": "t"}), "/v1/config": answered({})}
        shop.resources["snowflake/catalog_integration/rest"].verify({}, {})  # as the error advises

    assert shop.spec.snowflake
    part = shop.spec.snowflake.model_copy(update={"rest": None})
    shop.spec = shop.spec.model_copy(update={"snowflake": part})
    assert shop.changes()["snowflake/catalog_integration/rest"] == "delete"
    shop.create()
    assert shop.changes() == {}

    shop.delete()
    assert set(shop.changes().values()) == {"create"}


@pytest.mark.parametrize(
    ("address", "was", "by_hand", "named"),
    [
        ("catalog_integration", ":role/", ":role/another_", "role_arn"),
        ("catalog_integration", "https://glue.us-east-1", "https://glue.eu-west-1", "uri"),
        (
            "catalog_integration",
            "SIGV4_SIGNING_REGION = 'us-east-1'",
            "SIGV4_SIGNING_REGION = 'eu-west-1'",
            "signs_for",
        ),
        ("catalog_integration", "CATALOG_NAME = '", "CATALOG_NAME = '9", "catalog"),
        ("catalog_integration/rest", NOWHERE, "http://127.0.0.1:8", "uri"),
        ("catalog_integration/rest", "CATALOG_NAME = 'lake'", "CATALOG_NAME = 'sea'", "warehouse"),
        ("catalog_integration/rest", "('A', 'B')", "('A', 'B', 'C')", "scopes"),
    ],
)
@pytest.mark.each_time("catalog_integration/rest-CATALOG_NAME = 'lake'-CATALOG_NAME = 'sea'-warehouse")
def test_each_part_of_a_rest_catalog_that_others_made_otherwise_is_named(
    by_rest: InSnowflake, address: str, was: str, by_hand: str, named: str
) -> None:
    catalog: Any = by_rest.resources[f"snowflake/{address}"]
    options = catalog.options({})
    assert options.count(was) == 1
    assert by_rest.changes() == {}
    replace = "CREATE OR REPLACE CATALOG INTEGRATION "

    by_rest.standin.as_("ACCOUNTADMIN", replace + options.replace(was, by_hand))
    step = next(each for each in by_rest.reconciler.plan().steps if each.address == catalog.address)
    by_rest.standin.as_("ACCOUNTADMIN", replace + options)
    by_rest.create()

    assert [change.field for change in step.changes] == [named]
    assert step.action == "blocked"
