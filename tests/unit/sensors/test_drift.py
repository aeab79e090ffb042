"""The drift sensor from tick to tick; the clouds are a dictionary here."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from assets.deployments.objects import DeploymentAssets
from frazil.settings.profile import Settings
from frazil_cloud import deployment
from frazil_cloud.reconciler import Reconciler
from frazil_cloud.spec.deployment import DeploymentSpec
from frazil_cloud.spec.folders import Deployment
from kit.clouds.dictionary_cloud import Cloud, Thing
from sensors.deployments.drift import drift_sensor, watched_drift

SPEC = DeploymentSpec.model_validate({"name": "shop", "aws": {"bucket": "shop-bucket"}})
BUCKET = dg.AssetKey(["aws", "shop", "bucket"])


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


@pytest.fixture
def shop(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> DeploymentAssets:
    things = [Thing(cloud, "aws/bucket", fields={"public": False}), Thing(cloud, "aws/role", ("aws/bucket",))]
    monkeypatch.setattr(deployment, "OBJECTS", {"all": lambda spec, clouds: things})
    return DeploymentAssets(Deployment(SPEC, Path()), Settings.load())


def make(shop: DeploymentAssets) -> None:
    reconciler: Reconciler = shop.reconciler
    reconciler.apply(reconciler.plan())


def tick(shop: DeploymentAssets, cursor: str | None = None) -> tuple[list[str], str, str]:
    """What the sensor tells of checks, what it says, and its cursor behind that."""
    with dg.build_sensor_context(cursor=cursor) as context:
        decided = drift_sensor([shop]).evaluate_tick(context)
    verdicts = [
        f"{event.asset_key.to_user_string()}: {event.description}"
        for event in decided.asset_events
        if isinstance(event, dg.AssetCheckEvaluation)
    ]
    return verdicts, str(decided.skip_message), str(decided.cursor)


def test_what_was_not_made_has_not_drifted(shop: DeploymentAssets) -> None:
    verdicts, message, _ = tick(shop)

    assert (verdicts, message) == ([], "shop was not made.")


def test_what_was_taken_out_of_the_file_is_said_and_fails_no_check(
    shop: DeploymentAssets, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(shop)
    cloud.add("aws/former", {})
    former = [Thing(cloud, "aws/former")]
    monkeypatch.setattr(deployment, "FORMER", {"all": lambda *_: former})

    verdicts, message, _ = tick(shop)

    assert (verdicts, message) == ([], "shop: aws/former differ.")


def test_nothing_is_told_where_all_is_well(shop: DeploymentAssets) -> None:
    make(shop)

    assert tick(shop)[:2] == ([], "shop is as it should be.")


def test_a_change_is_told_once_and_its_end_once(shop: DeploymentAssets, cloud: Cloud) -> None:
    make(shop)
    cloud.change("aws/bucket", {"public": True})

    first, _, cursor = tick(shop)
    second, message, cursor = tick(shop, cursor)
    cloud.change("aws/bucket", {"public": False})
    third, _, _ = tick(shop, cursor)

    assert first == ["aws/shop/bucket: aws/bucket differs (is -> should be): public: true -> false"]
    assert (second, message) == ([], "shop: aws/bucket differ.")
    assert third == ["aws/shop/bucket: It is as the deployment says."]


def test_what_others_deleted_is_told(shop: DeploymentAssets, cloud: Cloud) -> None:
    make(shop)
    cloud.remove("aws/role")

    assert tick(shop)[0] == ["aws/shop/role: aws/role is not there."]


def test_each_drift_check_has_an_alarm_of_its_own(shop: DeploymentAssets) -> None:
    subjects = watched_drift([shop])

    assert str(subjects[dg.AssetCheckKey(BUCKET, "drift")]) == "check drift of aws/shop/bucket"
    assert len(set(subjects.values())) == 2
