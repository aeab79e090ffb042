"""What errors of Confluent Cloud advise is done, and comes out right; nothing goes that is not named."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.errors import ConfigureError, DifferentError, NotAllowedError, RepairError
from frazil_cloud.confluent.accounts.keys import KeyDuty
from frazil_cloud.confluent.client import Confluent, stored_pair
from frazil_cloud.resource import Known
from frazil_cloud.rotation.api_keys import ApiKeys
from frazil_cloud.spec.confluent import KeyUse
from kit.clouds.cloud_confluent import KEY, KICKSTARTER, SECRET, CloudConfluent, Deployed
from kit.deployments.rotations import AT_ONCE

ACCOUNTS = "/iam/v2/service-accounts"
TOTALS = "stock_trades_with_totals"


def changed(**confluent: Any) -> dict[str, Any]:
    """The deployment with another part of Confluent's."""
    return {**KICKSTARTER, "confluent": {**KICKSTARTER["confluent"], **confluent}}


def statements(known: Known) -> str:
    environment = known["confluent/environment"]
    return f"/sql/v1/organizations/{environment['organization']}/environments/{environment['id']}/statements"


def topics(known: Known) -> str:
    return f"/kafka/v3/clusters/{known['confluent/cluster']['id']}/topics"


def manager(deployed: Deployed, known: Known) -> dict[str, str]:
    key, secret = stored_pair(deployed.store, known, "confluent/key/app_manager")
    return {"key": key, "secret": secret}


def with_a_failed_statement(deployed: Deployed) -> tuple[Known, RepairError]:
    """A statement that made its table, and FAILED then."""
    known = deployed.create()
    failed = deployed.cloud.thing(statements(known), "create-totals").body
    failed["status"].update(phase="FAILED", detail="out of memory")
    with pytest.raises(RepairError, match="FAILED, and its table") as raised:
        deployed.create()
    return known, raised.value


def is_well(deployed: Deployed) -> bool:
    return deployed.reconciler().plan().news == () and not any(deployed.reconciler().verify().values())


@pytest.mark.nightly
def test_a_failed_statement_whose_rows_may_go_begins_anew(deployed: Deployed) -> None:
    known, _ = with_a_failed_statement(deployed)

    deployed.cloud.ask("DELETE", f"{statements(known)}/create-totals")
    deployed.cloud.ask("DELETE", f"{topics(known)}/{TOTALS}", **manager(deployed, known))
    deployed.create()

    assert is_well(deployed)


@pytest.mark.nightly
def test_a_failed_statement_whose_rows_must_stay_goes_on_under_another_name(deployed: Deployed) -> None:
    """The DROP before it was forgotten: with nothing behind it that is there, it would run again."""
    known, error = with_a_failed_statement(deployed)
    assert "docs/cloud.md" in error.todo
    assert f"drops {TOTALS}" in error.todo
    deployed.cloud.organization.of(statements(known)).pop("drop-totals")

    hint = "/*+ OPTIONS('scan.startup.mode' = 'specific-offsets') */"
    insert = f"INSERT INTO `{TOTALS}`"
    assert insert in error.todo
    query = f"{insert} SELECT userid, quantity * price FROM stock_trades {hint}"
    on = {"name": "go-on-with-totals", "makes": TOTALS, "sql": query}
    drop, _ = KICKSTARTER["confluent"]["statements"]
    deployed.document = changed(statements=[drop, {**on, "after": ["drop-totals"]}])
    again = {step.address: step.action for step in deployed.reconciler().plan().news}
    assert again["confluent/statement/drop-totals"] == "create"  # what is warned of

    deployed.document = changed(statements=[on])
    deployed.create()

    assert set(deployed.cloud.organization.of(statements(known))) == {"go-on-with-totals"}
    assert TOTALS in deployed.cloud.inventory()[topics(known)]
    assert is_well(deployed)


def test_a_field_that_nobody_can_change_is_as_before_or_its_object_is_deleted_by_hand(
    deployed: Deployed,
) -> None:
    known = deployed.create()
    deployed.document = changed(topics=[{"name": "stock_trades", "partitions": 12}])
    with pytest.raises(DifferentError, match="nobody can change") as raised:
        deployed.create()
    assert "with all that they hold" in raised.value.todo

    deployed.document = KICKSTARTER
    assert deployed.reconciler().plan().news == ()

    deployed.document = changed(topics=[{"name": "stock_trades", "partitions": 12}])
    deployed.cloud.ask("DELETE", f"{topics(known)}/stock_trades", **manager(deployed, known))
    assert deployed.create()["confluent/topic/stock_trades"]["partitions"] == 12


@pytest.mark.nightly
def test_tableflow_gets_a_deployment_of_its_own_beside_one_whose_bucket_holds_tables(
    confluent: CloudConfluent,
) -> None:
    """ "Empty the bucket" was the first advice, and the tables that Frazil had landed were in it."""
    here = ("warehouse/trades/metadata/v1.metadata.json",)
    landing = Deployed(confluent, changed(tableflow=[]), objects=here)
    landing.create()
    landing.document = KICKSTARTER
    with pytest.raises(ConfigureError, match="holds what Tableflow did not write") as raised:
        landing.create()
    assert raised.value.todo.startswith("Tables that Frazil landed may be among them.")
    assert "a deployment of its own" in raised.value.todo

    landing.document = changed(tableflow=[])
    landing.create()
    own = {"name": "shown_by_confluent", "prefix": "shown", "aws": {"bucket": "another-lake"}}
    beside = Deployed(confluent, {**KICKSTARTER, **own})
    beside.create()

    assert is_well(landing)
    assert is_well(beside)


@pytest.mark.parametrize(
    ("use", "field", "less"),
    [("app_manager", "sasl.password", {}), ("tableflow", "api.key.secret", {"tableflow": ()})],
)
@pytest.mark.each_time("tableflow-api.key.secret-less1")
def test_a_key_that_somebody_changed_is_replaced_by_the_rotation_that_is_named(
    deployed: Deployed, use: KeyUse, field: str, less: dict[str, Any]
) -> None:
    whole, smaller = deployed.document, {**KICKSTARTER, "confluent": {**KICKSTARTER["confluent"], **less}}
    known = deployed.create()
    deployed.store.secrets[deployed.spec.names.secret(use)][field] = "wrong"
    born = deployed.cloud.thing("/iam/v2/api-keys", known[f"confluent/key/{use}"]["id"]).body["metadata"]
    born["created_at"] = "2026-01-01T00:00:00+00:00"
    deployed.document = smaller
    with pytest.raises(ConfigureError, match="though it is not new") as raised:
        deployed.reconciler(patience=600.0).plan()
    assert f"`frazil rotate --what {use} --now`" in raised.value.todo

    deployed.document = whole
    part = deployed.reconciler().part(KeyDuty(deployed.spec, use).needs)
    duty = KeyDuty(deployed.spec, use)
    ApiKeys(deployed.cloud.client, deployed.store, duty, part.facts(), AT_ONCE).turn()
    deployed.document = smaller
    deployed.create()

    assert is_well(deployed)


@pytest.mark.parametrize("way", ["another prefix", "its mark"])
@pytest.mark.each_time("its mark")
def test_an_account_without_the_mark_is_passed_by_or_given_it(deployed: Deployed, way: str) -> None:
    made = deployed.cloud.made(ACCOUNTS, {"display_name": "tableflow_app_manager", "description": "lost"})
    with pytest.raises(DifferentError, match="not of this deployment") as raised:
        deployed.create()
    assert "If it is the deployment's own" in raised.value.todo

    if way == "another prefix":
        deployed.document = {**KICKSTARTER, "prefix": "another"}
    else:
        mark = raised.value.todo.rpartition(" ")[2].rstrip(".")
        deployed.cloud.thing(ACCOUNTS, made["id"]).body["description"] = mark
    deployed.create()

    assert is_well(deployed)
    kept = deployed.cloud.thing(ACCOUNTS, made["id"]).body["description"]
    assert kept == ("lost" if way == "another prefix" else deployed.spec.mark)


def test_a_connector_is_made_once_its_config_is_mended(deployed: Deployed) -> None:
    (connector,) = KICKSTARTER["confluent"]["connectors"]
    deployed.document = changed(connectors=[{**connector, "config": {"output.data.format": "CSV"}}])
    with pytest.raises(ConfigureError, match="does not take the connector") as raised:
        deployed.create()
    assert "CSV" in raised.value.where

    deployed.document = changed(connectors=[{**connector, "config": {"output.data.format": "AVRO"}}])
    deployed.create()

    assert is_well(deployed)


@pytest.mark.nightly  # by day test_drift.py has the refusal, and others here go on after one
def test_a_quota_that_was_raised_lets_the_same_go_on(deployed: Deployed) -> None:
    deployed.cloud.delay(max_keys=3)
    with pytest.raises(ConfigureError, match="quota"):
        deployed.create()

    deployed.cloud.delay(max_keys=100)
    deployed.create()

    assert is_well(deployed)


@pytest.mark.nightly  # by day test_drift.py has the refusal, and others here go on after one
def test_an_owner_that_is_given_the_role_makes_the_deployment(deployed: Deployed) -> None:
    owner = deployed.cloud.account()
    deployed.confluent = deployed.cloud.client_of(deployed.cloud.key(owner))
    with pytest.raises(NotAllowedError) as raised:
        deployed.create()
    assert "the role OrganizationAdmin" in raised.value.todo

    deployed.cloud.bind(owner, "OrganizationAdmin", "")
    deployed.create()

    assert is_well(deployed)


@pytest.mark.nightly  # by day test_drift.py has the key that nobody knows
@pytest.mark.parametrize("pair", [None, ("NOBODY", "nothing")])
def test_a_cloud_api_key_that_is_set_or_mended_makes_the_deployment(
    deployed: Deployed, pair: tuple[str, str] | None
) -> None:
    bare = deployed.cloud.settings.model_copy(update={"api_key": None, "api_secret": None})
    wrong = deployed.cloud.client_of({"key": pair[0], "secret": pair[1]}) if pair else Confluent(bare)
    deployed.confluent = wrong
    with pytest.raises(ConfigureError) as raised:
        deployed.create()
    assert "FRAZIL_CONFLUENT__API_KEY and FRAZIL_CONFLUENT__API_SECRET" in raised.value.todo

    deployed.confluent = deployed.cloud.client_of({"key": KEY, "secret": SECRET})
    deployed.create()

    assert is_well(deployed)
