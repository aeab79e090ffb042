"""Snowflake reads through Glue's Iceberg REST, and through any catalog that gives tokens."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from frazil.errors import RepairError
from kit.answering import Answer, serving
from kit.in_snowflake import InSnowflake

CLIENT = {"client_id": "frazil", "client_secret": "a secret of a client"}


def answered(told: dict[str, str]) -> Answer:
    return 200, {}, json.dumps(told).encode()


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
