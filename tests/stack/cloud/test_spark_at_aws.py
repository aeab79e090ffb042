"""Spark reads and writes tables at the AWS stand-in, in the role that the deployment made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frazil.clients import Clients
from frazil.settings.profile import Settings
from frazil_cloud.aws.client import Aws
from frazil_cloud.aws.objects import objects
from frazil_cloud.aws.secrets import SecretsManager
from frazil_cloud.clouds import Clouds
from frazil_cloud.reconciler import Reconciler
from frazil_cloud.spec.deployment import DeploymentSpec
from frazil_local.home import Home
from frazil_local.parts import prepared_stack
from kit.stack.shared_stack import free_offset

pytestmark = pytest.mark.nightly

SPEC = DeploymentSpec.model_validate({"name": "lab", "aws": {"bucket": "lab-lake"}})


@pytest.fixture(scope="module")
def settings(stack_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A deployment at AWS alone, in a stack of which only AWS and Spark are started."""
    home = Home(tmp_path_factory.mktemp("clouds") / "home")
    stack = prepared_stack(home, {}, free_offset(), clouds=True)
    stack.up(lambda *_: None, ("cloud-aws", "spark"))
    aws = Aws(Settings.of_profile(home.administrator).aws)
    reconciler = Reconciler(objects(SPEC, Clouds(aws, None, None, SecretsManager(aws))), pause=0.1)
    made = reconciler.apply(reconciler.plan())
    plain = Settings.of_profile(home.profile)
    yield plain.with_changes(
        catalog="glue",
        aws={**aws.settings.model_dump(exclude_none=True), "role_arn": made["aws/writer_role"]["arn"]},
        s3={"endpoint": None},
        glue={"endpoint": None, "warehouse": "s3://lab-lake/warehouse", "database": "lab"},
    )
    stack.down(lambda *_: None)


def test_spark_writes_what_pyiceberg_reads(settings: Settings) -> None:
    clients = Clients(settings)

    clients.spark.sql("CREATE TABLE frazil.lab.stock_trades (symbol STRING, quantity INT) USING iceberg")
    clients.spark.sql("INSERT INTO frazil.lab.stock_trades VALUES ('ZVZZT', 1), ('ZXZZT', 2)")

    table = clients.catalog.load_table(("lab", "stock_trades"))
    assert table.scan().to_arrow().num_rows == 2
    assert table.location().startswith("s3://lab-lake/warehouse/")


def test_spark_is_refused_outside_of_the_deployment(settings: Settings) -> None:
    clients = Clients(settings)

    with pytest.raises(
        Exception, match=r"lab_s3_glue_role/frazil is not authorized to perform: glue:GetDatabase"
    ):
        clients.spark.sql("CREATE NAMESPACE frazil.other")
