"""`frazil rotate`, the job and the sensor: keys that are old are replaced, and nobody hears a secret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
)

from assets.deployments.objects import DeploymentAssets
from assets.deployments.rotation import job_of, rotation_job, rotation_schedule, step_of
from frazil.settings.profile import Settings
from frazil_cloud.aws.client import Aws
from frazil_cloud.aws.secrets import SecretsManager
from frazil_cloud.confluent.accounts import keys
from frazil_cloud.confluent.accounts.keys import KeyDuty
from frazil_cloud.deployment import open_clouds
from frazil_cloud.spec.confluent import KeyUse
from frazil_cloud.spec.deployment import DeploymentSpec
from frazil_cloud.spec.folders import Deployment
from kit.clouds.cloud_aws import CloudAws
from kit.clouds.cloud_confluent import KEY, SECRET, CloudConfluent, Deployed
from kit.deployments.rotations import Administrator, RsaLab
from kit.runs.shell import Command, Output
from sensors.deployments.rotation import rotation_sensor

SHOP = """type: assets.deployments.Deployment
attributes:
  name: shop
  confluent: {{topics: [{{name: trades}}]}}
  aws: {{bucket: shop-bucket}}
  rotation: {{every: {every}, rest: 1s}}
"""
DOCUMENT: dict[str, Any] = {
    "name": "shop", "confluent": {"topics": [{"name": "trades"}]}, "aws": {"bucket": "shop-bucket"}
}  # fmt: skip
USES: tuple[KeyUse, ...] = ("app_manager", "app_producer", "app_consumer", "schema_registry")
"""The keys of the shop, in the order in which they are turned."""


@dataclass
class Shop:
    """A deployment whose Confluent part is made, and who rotates its keys."""

    folder: Path
    command: Callable[..., Output]
    made: Deployed

    def write(self, every: str) -> None:
        (self.folder / "shop").mkdir(parents=True, exist_ok=True)
        (self.folder / "shop" / "defs.yaml").write_text(SHOP.format(every=every))

    def rotate(self, *arguments: str) -> Output:
        return self.command("rotate", *arguments)

    def spec(self, every: str) -> DeploymentSpec:
        return DeploymentSpec.model_validate({**DOCUMENT, "rotation": {"every": every}})

    def assets(self, every: str) -> DeploymentAssets:
        return DeploymentAssets(Deployment(self.spec(every), self.folder / "shop"), Settings.load())

    def stored_pair(self, use: KeyUse = "app_producer") -> tuple[str, str]:
        spec = self.spec("30d")
        pair = keys.pair_or_none(open_clouds(spec, Settings.load()).secrets.get(KeyDuty(spec, use).secret))
        assert pair
        return pair


@pytest.fixture
def unmade(
    aws: CloudAws, confluent: CloudConfluent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Shop:  # fmt: skip
    for name, value in {
        "FRAZIL_AWS__ENDPOINT": aws.url,
        "FRAZIL_AWS__ACCESS_KEY": aws.key,
        "FRAZIL_AWS__SECRET_KEY": aws.secret,
        "FRAZIL_CONFLUENT__ENDPOINT": confluent.url,
        "FRAZIL_CONFLUENT__API_KEY": KEY,
        "FRAZIL_CONFLUENT__API_SECRET": SECRET,
        "FRAZIL_DEPLOYMENTS": str(tmp_path / "deployments"),
    }.items():
        monkeypatch.setenv(name, value)
    store: Any = SecretsManager(Aws(aws.settings))
    made = Deployed(confluent, DOCUMENT, store)
    shop = Shop(tmp_path / "deployments", Command(monkeypatch, capsys), made)
    shop.write(every="30d")
    return shop


@pytest.fixture
def shop(unmade: Shop) -> Shop:
    unmade.made.create()
    return unmade


def test_young_keys_are_left_and_told(shop: Shop) -> None:
    before = shop.stored_pair()

    result = shop.rotate("shop")

    assert (result.code, result.err) == (0, "")
    assert before[0] in result.out
    assert "nothing; due " in result.out
    assert shop.stored_pair() == before


def test_now_replaces_what_is_named_whatever_its_age(shop: Shop) -> None:
    before, others = shop.stored_pair(), shop.stored_pair("app_consumer")

    turns = shop.rotate("shop", "--what", "app_producer", "--now", "--json").document

    assert [(each["what"], each["turned"], each["instead_of"]) for each in turns] == [
        ("app_producer", True, before[0])
    ]
    assert turns[0]["key"] == shop.stored_pair()[0] != before[0]
    assert shop.stored_pair("app_consumer") == others


def test_old_keys_are_replaced_all_of_them(shop: Shop) -> None:
    shop.write(every="0s")
    before = {use: shop.stored_pair(use) for use in USES}

    result = shop.rotate()

    assert result.code == 0
    assert all(shop.stored_pair(use) != before[use] for use in USES)


def test_no_secret_is_told(shop: Shop) -> None:
    before = shop.stored_pair()[1]

    result = shop.rotate("--now")

    assert not [text for text in (before, shop.stored_pair()[1], SECRET) if text in result.out + result.err]


@pytest.mark.parametrize(
    ("what", "code", "expected"),
    [("rsa", 1, "has no rsa to rotate"), ("all", 2, "all is nothing that is rotated")],
)
def test_what_is_not_there_is_named(shop: Shop, what: str, code: int, expected: str) -> None:
    result = shop.rotate("--what", what)

    assert result.code == code
    assert expected in result.err
    assert "Fix the name." in result.err
    named = result.err.partition("there are: ")[2].split("\n")[0].split(", ")
    assert "app_producer" in named
    assert shop.rotate("shop", "--what", "app_producer", "--now").code == 0


def test_keys_of_what_is_not_made_yet_are_turned_once_it_is(shop: Shop, confluent: CloudConfluent) -> None:
    confluent.reset()
    result = shop.rotate("shop", "--what", "app_producer", "--now")
    assert result.code == 1
    assert "`frazil deploy create shop` makes it." in result.err

    shop.made.create()

    assert shop.rotate("shop", "--what", "app_producer", "--now").code == 0


def test_what_one_kind_of_keys_meets_ends_no_other(shop: Shop, confluent: CloudConfluent) -> None:
    keys.revoke(confluent.client, shop.stored_pair("app_manager")[0])
    shop.write(every="0s")
    before = shop.stored_pair()

    result = shop.rotate()

    assert result.code == 1
    assert "app_manager: A secret holds no key that Confluent knows." in result.err
    assert shop.stored_pair() != before


@pytest.mark.nightly
def test_the_key_of_snowflake_is_replaced_as_well(
    shop: Shop, administrator: Administrator, aws: CloudAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = RsaLab(administrator, aws, "SHOP_USER", "/snowflake_resource/shop")
    (shop.folder / "shop" / "defs.yaml").write_text(SHOP.format(every="30d") + "  snowflake: {}\n")
    boss = administrator.login
    for name in ("account", "host", "port", "protocol", "user"):
        monkeypatch.setenv(f"FRAZIL_SNOWFLAKE__{name}".upper(), str(getattr(boss.settings.snowflake, name)))
    assert boss.private_key
    monkeypatch.setenv("FRAZIL_SNOWFLAKE__PRIVATE_KEY", pem_of(boss.private_key))

    result = shop.rotate("shop", "--what", "rsa", "--now", "--json")

    assert result.code == 0, result.err
    assert [(each["what"], each["key"], each["instead_of"]) for each in result.document] == [
        ("rsa", lab.pair_in_use().fingerprint, lab.first.fingerprint)
    ]
    assert lab.logs_in(lab.pair_in_use())
    assert lab.stored_values()["snowflake_rsa_private_key_2_pem"] not in result.out + result.err


def pem_of(der: bytes) -> str:
    key = load_der_private_key(der, None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def tick(shop: Shop, every: str, instance: dg.DagsterInstance) -> dg.SensorResult:
    made = shop.assets(every)
    with dg.build_sensor_context(instance=instance) as context:
        decided: Any = rotation_sensor([made], [rotation_job(made)])(context)
        assert isinstance(decided, dg.SensorResult)
        return decided


def test_the_sensor_asks_for_old_keys_only(shop: Shop) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        young, old = tick(shop, "30d", instance), tick(shop, "0s", instance)

    assert not young.run_requests
    assert "shop, app_producer: due " in str(young.skip_reason)
    assert old.run_requests
    assert old.run_requests[0].job_name == job_of("shop")
    assert old.run_requests[0].run_config == {"ops": {step_of("shop"): {"config": {"what": list(USES)}}}}


def test_the_job_replaces_what_the_sensor_asked_for_and_tells_it_at_the_assets(shop: Shop) -> None:
    made, before = shop.assets("0s"), shop.stored_pair()

    with dg.DagsterInstance.ephemeral() as instance:
        request = (tick(shop, "0s", instance).run_requests or [])[0]
        done = rotation_job(made).execute_in_process(run_config=request.run_config, instance=instance)
        events = str([each.dagster_event for each in instance.all_logs(done.run_id)])

    seen = [
        event.asset_key.to_user_string() for event in done.get_asset_observation_events() if event.asset_key
    ]
    assert seen == [f"confluent/shop/key/{use}" for use in USES]
    assert shop.stored_pair() != before
    assert not [text for text in (before[1], shop.stored_pair()[1], SECRET) if text in events]


@pytest.mark.parametrize(("every", "cron"), [("30d", "17 3 * * *"), ("12h", "17 * * * *")])
def test_the_schedule_looks_often_enough(unmade: Shop, every: str, cron: str) -> None:
    made = unmade.assets(every)

    assert rotation_schedule(made, rotation_job(made)).cron_schedule == cron
