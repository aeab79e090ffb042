"""A deployment in the asset graph: its objects, their checks and jobs; the clouds are a dictionary here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from frazil.definitions import defs
from frazil_cloud import deployment
from frazil_cloud.clouds import Clouds
from frazil_cloud.resource import Resource
from frazil_cloud.spec.deployment import DeploymentSpec
from kit.clouds.dictionary_cloud import Cloud, Thing
from kit.graph.graphs import failures, materialized, verdicts

SHOP = """type: assets.deployments.Deployment
attributes:
  name: shop
  pipelines: [trading]
  aws: {bucket: shop-bucket}
"""

SNOWFLAKE = "snowflake/frazil/local/stock_trades"


_CLOUD = Cloud()


@pytest.fixture
def cloud() -> Cloud:
    """The cloud of all definitions here, which are loaded once; empty at first."""
    _CLOUD.objects.clear()
    _CLOUD.done.clear()
    return _CLOUD


def things(cloud: Cloud) -> list[Resource]:
    return [
        Thing(cloud, "aws/writer_role", ("aws/bucket", "confluent/cluster")),
        Thing(cloud, "aws/bucket", fields={"public": False, "tags": {"frazil": "shop"}}),
        Thing(cloud, "confluent/cluster"),
        Thing(cloud, "confluent/topic/stock_trades", ("confluent/cluster",)),
        Thing(cloud, "snowflake/volume", ("aws/writer_role",)),
    ]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.Definitions]:
    def objects(spec: DeploymentSpec, clouds: Clouds) -> list[Resource]:
        return things(_CLOUD)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAZIL_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setattr(deployment, "OBJECTS", {"all": objects})
        yield loaded(tmp_path_factory.mktemp("deployments"), SHOP, patch)


def loaded(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> dg.Definitions:
    (folder / "shop").mkdir()
    (folder / "shop" / "defs.yaml").write_text(text)
    monkeypatch.setenv("FRAZIL_DEPLOYMENTS", str(folder))
    return defs()


def run(
    definitions: dg.Definitions, instance: dg.DagsterInstance, *keys: str, config: Any = None
) -> dg.ExecuteInProcessResult:
    selected = [dg.AssetKey(key.split("/")) for key in keys]
    job = definitions.resolve_implicit_global_asset_job_def()
    return job.execute_in_process(
        instance=instance, asset_selection=selected, run_config=config, raise_on_error=False
    )


def upstream(definitions: dg.Definitions, key: str) -> set[str]:
    graph = definitions.resolve_asset_graph()
    return {parent.to_user_string() for parent in graph.get(dg.AssetKey(key.split("/"))).parent_keys}


def test_each_object_is_an_asset_in_the_group_of_its_cloud(shop: dg.Definitions) -> None:
    specs = {s.key.to_user_string(): s for s in shop.resolve_all_asset_specs() if "shop" in s.key.path}

    assert {key: spec.group_name for key, spec in specs.items()} == {
        "aws/shop/writer_role": "aws",
        "aws/shop/bucket": "aws",
        "confluent/shop/cluster": "confluent",
        "confluent/shop/topic/stock_trades": "confluent",
        "snowflake/shop/volume": "snowflake",
    }
    assert specs["aws/shop/bucket"].kinds == {"aws"}
    dg.Definitions.validate_loadable(shop)


def test_topics_and_tables_are_below_what_they_live_in(shop: dg.Definitions) -> None:
    assert upstream(shop, "aws/shop/writer_role") == {"aws/shop/bucket", "confluent/shop/cluster"}
    assert upstream(shop, "kafka/stock_trades") == {"confluent/shop/topic/stock_trades"}
    assert upstream(shop, "kafka/users") == {"confluent/shop/cluster"}
    assert upstream(shop, "iceberg/local/stock_trades") == {"kafka/stock_trades", "aws/shop/writer_role"}
    assert "snowflake/shop/volume" in upstream(shop, SNOWFLAKE)
    assert upstream(shop, "kafka/shipments") == set(), "of another pipeline"


def test_automation_does_not_wait_for_a_deployment_that_dagster_did_not_make(
    shop: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    glue, shown = dg.AssetKey(["glue", "local", "stock_trades"]), dg.AssetKey(SNOWFLAKE.split("/"))
    wanted = dg.AssetSelection.assets(glue, shown)
    instance.report_runless_asset_event(dg.AssetMaterialization(glue))
    instance.report_runless_asset_event(dg.AssetMaterialization(shown))
    before = dg.evaluate_automation_conditions(shop, instance, asset_selection=wanted)
    instance.report_runless_asset_event(dg.AssetMaterialization(glue))

    after = dg.evaluate_automation_conditions(shop, instance, asset_selection=wanted, cursor=before.cursor)

    assert after.get_num_requested(shown) == 1


def test_materializing_some_makes_them_and_all_that_they_need(
    shop: dg.Definitions, cloud: Cloud, instance: dg.DagsterInstance
) -> None:
    result = run(shop, instance, "aws/shop/writer_role", "aws/shop/bucket")

    assert result.success
    assert cloud.names() == ["aws/bucket", "aws/writer_role", "confluent/cluster"]
    made = materialized(result)
    assert set(made) == {"aws/shop/writer_role", "aws/shop/bucket"}
    assert made["aws/shop/bucket"]["did"] == "creating"
    assert made["aws/shop/bucket"]["tags"] == {"frazil": "shop"}


def test_an_agreed_plan_that_is_stale_is_refused(
    shop: dg.Definitions, cloud: Cloud, instance: dg.DagsterInstance
) -> None:
    config = {"ops": {"shop_objects": {"config": {"plan": "0123456789ab"}}}}

    result = run(shop, instance, "aws/shop/bucket", config=config)

    assert not result.success
    assert cloud.done == []
    message = failures(result)
    assert "Look at the plan of now, and start the run with its digest." in message

    digest = message.partition("not the one of now, which is ")[2][:12]
    now = {"ops": {"shop_objects": {"config": {"plan": digest}}}}
    assert run(shop, instance, "aws/shop/bucket", config=now).success
    assert "aws/bucket" in cloud.names()


def test_both_checks_of_each_object_tell_how_it_is(
    shop: dg.Definitions, cloud: Cloud, instance: dg.DagsterInstance
) -> None:
    run(shop, instance, "aws/shop/bucket")
    cloud.change("aws/bucket", {"public": True})
    job = shop.resolve_implicit_global_asset_job_def()
    key = dg.AssetKey(["aws", "shop", "bucket"])
    selected = {dg.AssetCheckKey(key, "drift"), dg.AssetCheckKey(key, "verify")}

    result = job.get_subset(asset_selection=set(), asset_check_selection=selected).execute_in_process(
        instance=instance
    )

    assert verdicts(result) == {"drift": False, "verify": True}
    description = next(e for e in result.get_asset_check_evaluations() if e.check_name == "drift").description
    assert description == "aws/bucket differs (is -> should be): public: true -> false"


def test_jobs_create_and_delete_everything(
    shop: dg.Definitions, cloud: Cloud, instance: dg.DagsterInstance
) -> None:
    created = shop.resolve_job_def("create_shop").execute_in_process(instance=instance)
    assert created.success
    assert len(cloud.objects) == 5

    config = {"ops": {"delete_objects_of_shop": {"config": {"deployment": "shop"}}}}
    for _ in range(2):
        deleted = shop.resolve_job_def("delete_shop").execute_in_process(instance=instance, run_config=config)
        assert deleted.success
    assert cloud.objects == {}


def test_delete_wants_the_name_once_more(
    shop: dg.Definitions, cloud: Cloud, instance: dg.DagsterInstance
) -> None:
    run(shop, instance, "aws/shop/bucket")
    config = {"ops": {"delete_objects_of_shop": {"config": {"deployment": "ship"}}}}

    result = shop.resolve_job_def("delete_shop").execute_in_process(
        instance=instance, run_config=config, raise_on_error=False
    )

    assert "This job deletes shop, not ship." in failures(result)
    assert "Write `deployment: shop` if you mean it." in failures(result)
    assert cloud.names() == ["aws/bucket"]

    meant = {"ops": {"delete_objects_of_shop": {"config": {"deployment": "shop"}}}}
    shop.resolve_job_def("delete_shop").execute_in_process(instance=instance, run_config=meant)
    assert cloud.names() == []


def test_a_deployment_with_a_mistake_is_one_asset_that_tells_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance
) -> None:
    broken = loaded(tmp_path, SHOP.replace("bucket:", "buket:"), monkeypatch)

    result = run(broken, instance, "deployments/shop")

    assert "defs.yaml:5: aws.buket: unknown name; did you mean 'bucket'?" in failures(result)
    assert upstream(broken, "kafka/stock_trades") == set()


def test_those_that_come_with_frazil_are_no_assets_unless_asked_for(graph: dg.Definitions) -> None:
    assert {s.group_name for s in graph.resolve_all_asset_specs()} == {
        "airline",
        "frazil",
        "shipping",
        "trading",
    }
