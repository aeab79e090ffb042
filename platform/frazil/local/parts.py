"""The composition of a stack: which parts it has, what each is given, and what clients are told of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from frazil.errors import ConfigureError
from frazil.local.cloud import BUCKET, SNOWFLAKE_USER, TABLE_BUCKET, aws, snowflake, storage
from frazil.local.home import Home, s3_credentials, snowflake_keys, template, write_private
from frazil.local.jars import Jars, cache_folder, java_home, read_lock
from frazil.local.kafka import kafka, registry, registry_url
from frazil.local.ports import LOOPBACK, Ports, choose, recall, remember, url
from frazil.local.server import Server
from frazil.local.spark import Spark, cores
from frazil.local.stack import Stack
from frazil.settings import read_profile

_CHOICES = ("cluster", "catalog", "glue_database", "glue_warehouse", "pipelines")
"""Settings that a user may change in the file; the next start leaves them as they are."""


def known_stack(home: Home) -> Stack:
    """The stack as it was last started."""
    home.make()
    ports = recall(home.ports)
    return Stack(home, ports, _servers(home, ports))


def prepared_stack(home: Home, chosen: Mapping[str, int], offset: int | None = None) -> Stack:
    """The stack as it is to be started, its ports and profile written; for the arguments see `choose`."""
    known = known_stack(home)
    ports = choose(home.ports, chosen, offset)
    if dict(ports) != dict(known.ports) and known.is_running():
        raise ConfigureError(
            "The stack runs with other ports.", where=str(home.ports), todo="`frazil down` first."
        )
    remember(home.ports, ports)
    write_profile(home, ports)
    make_dagster_home(home)
    return Stack(home, ports, _servers(home, ports))


def _servers(home: Home, ports: Ports) -> list[Server]:
    java = java_home(home.root / "java")
    jars = Jars(cache_folder(), read_lock())
    spark = Spark(home, ports, java, jars)
    return [
        storage(home, ports),
        aws(home, ports),
        kafka(home, ports, java, jars),
        registry(home, ports, java, jars),
        spark.of_landings,
        spark.of_upkeep,
        snowflake(home, ports),
    ]


def write_profile(home: Home, ports: Ports) -> None:
    """Writes where everything is; only its owner can read it."""
    before = read_profile(home.profile)
    kept = {name: before[name] for name in _CHOICES if name in before}
    values = _values(home, ports) | kept
    write_private(home.profile, json.dumps(values, indent=2) + "\n")


def make_dagster_home(home: Home) -> None:
    """Makes DAGSTER_HOME, if it is missing."""
    home.dagster.mkdir(mode=0o700, exist_ok=True)
    if not (file := home.dagster / "dagster.yaml").exists():
        file.write_text(template("dagster.yaml"))


def _values(home: Home, ports: Ports) -> dict[str, Any]:
    credentials = s3_credentials(home)
    return {
        "cluster": "local",
        "bootstrap_servers": f"{LOOPBACK}:{ports['kafka']}",
        "schema_registry_url": registry_url(ports),
        "s3_endpoint": url(ports, "s3"),
        "s3_access_key": credentials.access_key,
        "s3_secret_key": credentials.secret_key,
        "s3_region": credentials.region,
        "bucket": BUCKET,
        "warehouse": TABLE_BUCKET,
        "rest_uri": url(ports, "rest"),
        "glue_endpoint": url(ports, "glue"),
        "glue_warehouse": f"s3://{BUCKET}/warehouse",
        "snowflake_account": "frazil",
        "snowflake_host": LOOPBACK,
        "snowflake_port": ports["snowflake"],
        "snowflake_protocol": "http",
        "snowflake_user": SNOWFLAKE_USER,
        "snowflake_aws_role_arn": "arn:aws:iam::123456789012:role/snowflake_s3_glue_role",
        "snowflake_private_key_path": str(snowflake_keys(home).private),
        "spark_remote": f"sc://{LOOPBACK}:{ports['spark']}",
        "upkeep_spark_remote": f"sc://{LOOPBACK}:{ports['spark-upkeep']}",
        "spark_parallelism": cores(),
        "dagster_home": str(home.dagster),
    }
