"""A Spark that lacks something is told from one that has all: by what is asked for, and what fixes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from frazil.connections import Connections
from frazil.doctor.preflight import probes
from frazil.doctor.run import findings_of
from frazil_local.home import Home
from kit.records.tickets import ARRIVALS
from kit.stack import bare_spark

STOPS = {
    "have every jar": (
        "no Iceberg, no client of S3, no client of Kafka",
        "jars.lock",
    ),
    "run Python that imports frazil": ("No module named 'frazil'", "Install the wheel"),
}
SLOWS = {
    "let go of Kafka's consumers": "spark.kafka.consumer.cache.timeout=1s",
    "compile large methods": "-XX:-DontCompileHugeMethods to spark.driver.extraJavaOptions",
}


ZONE = "America/St_Johns"
ELSEWHERE = {"TZ": ZONE, "PYTHONPATH": str(Path(bare_spark.__file__).parents[2])}


@pytest.fixture(scope="module")
def bare(stack_home: Home, connections: Connections) -> dict[str, Any]:
    """What is said of a Spark as the wheel of PySpark brings it, with a Python outside of the venv, and far
    from UTC."""
    return report_of_a_bare_one(stack_home)


def report_of_a_bare_one(stack_home: Home) -> dict[str, Any]:
    python = str(Path(sys.executable).resolve())
    here = {name: value for name, value in os.environ.items() if name != "SPARK_CONNECT_MODE_ENABLED"}
    done = subprocess.run(
        [sys.executable, bare_spark.__file__],
        env=here | {"PYSPARK_PYTHON": python, "JAVA_HOME": str(stack_home.root / "java"), **ELSEWHERE},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return document


def test_the_embedded_spark_lacks_nothing(connections: Connections) -> None:
    by_right = {each.right: each for each in findings_of("spark", probes(connections, kafka=True))}

    assert set(by_right) > {*STOPS, *SLOWS}
    assert [each for each in by_right.values() if each.status != "ok"] == []


@pytest.mark.nightly
@pytest.mark.parametrize("right", STOPS)
def test_what_a_landing_cannot_do_without_is_missing(bare: dict[str, Any], right: str) -> None:
    status, what, mend = bare["findings"][right]

    assert status == "missing"
    assert STOPS[right][0] in what
    assert STOPS[right][1] in mend


@pytest.mark.nightly
@pytest.mark.parametrize("right", SLOWS)
def test_what_costs_speed_only_is_said_and_stops_nothing(bare: dict[str, Any], right: str) -> None:
    status, what, _ = bare["findings"][right]

    assert status == "slow"
    assert SLOWS[right] in what


@pytest.mark.nightly
def test_times_without_a_zone_are_those_of_utc_though_python_and_java_are_elsewhere(
    bare: dict[str, Any],
) -> None:
    assert bare["zone"] == ZONE
    assert bare["flights"] == sorted(name for name, _, is_coming in ARRIVALS if is_coming)
