"""What `frazil up` leaves for clients: the profile file, and Dagster's folder."""

from __future__ import annotations

import json
from typing import Any

from frazil.local.cloud import BUCKET, TABLE_BUCKET
from frazil.local.home import Home, write_private
from frazil.local.kafka import registry_url
from frazil.local.keys import Credentials, KeyPair
from frazil.local.ports import LOOPBACK, Ports, url
from frazil.local.spark import cores
from frazil.settings import read_profile

__all__ = ["SNOWFLAKE_USER", "make_dagster_home", "write_profile"]

SNOWFLAKE_USER = "FRAZIL"

_CHOICES = ("cluster", "catalog", "glue_database", "glue_warehouse", "pipelines")
"""Settings that a user may change in the file; the next start leaves them as they are."""

_DAGSTER = """# Written by `frazil up` when it was missing; yours to change.
telemetry:
  enabled: false
concurrency:
  pools:
    # One run at a time for each table: a landing and an upkeep run of it would fight.
    granularity: run
    default_limit: 1
  runs:
    max_concurrent_runs: 4
freshness:
  enabled: true
"""


def write_profile(home: Home, ports: Ports, credentials: Credentials, keys: KeyPair) -> None:
    """Writes where everything is; only its owner can read it."""
    file = home.profile
    before = read_profile(file)
    kept = {name: before[name] for name in _CHOICES if name in before}
    values = _values(home, ports, credentials, keys) | kept
    write_private(file, json.dumps(values, indent=2) + "\n")


def make_dagster_home(home: Home) -> None:
    """Makes DAGSTER_HOME, if it is missing."""
    home.dagster.mkdir(mode=0o700, exist_ok=True)
    if not (file := home.dagster / "dagster.yaml").exists():
        file.write_text(_DAGSTER)


def _values(home: Home, ports: Ports, credentials: Credentials, keys: KeyPair) -> dict[str, Any]:
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
        "snowflake_private_key_path": str(keys.private),
        "spark_remote": f"sc://{LOOPBACK}:{ports['spark']}",
        "upkeep_spark_remote": f"sc://{LOOPBACK}:{ports['spark-upkeep']}",
        "spark_parallelism": cores(),
        "dagster_home": str(home.dagster),
    }
