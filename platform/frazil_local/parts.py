"""The composition of a stack: which parts it has, what each is given, and what clients are told of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from frazil.errors import ConfigureError
from frazil.settings.profile_file import read_profile
from frazil_local.cloud.parts import add_clouds, administrator, cloud_servers, has_clouds, leave_clouds
from frazil_local.home import Home, s3_credentials, secret, template, write_private
from frazil_local.jars import Jars, cache_folder, java_home, read_lock
from frazil_local.locks import lock, locks_of, unlock
from frazil_local.northwind.parts import (
    add_northwind,
    has_northwind,
    leave_northwind,
    northwind_servers,
    with_pipeline,
)
from frazil_local.ports import LOOPBACK, Ports, choose, recall, remember, url
from frazil_local.server import Server
from frazil_local.servers.kafka import kafka, kafka_access, registry, registry_access
from frazil_local.servers.spark import Spark, cores
from frazil_local.servers.stand_ins import (
    BUCKET,
    aws,
    catalog,
    rest_access,
    s3_access,
    snowflake,
    snowflake_login,
    storage,
)
from frazil_local.stack import Stack

_CHOICES = ("cluster", "catalog", "pipelines", "connections", "strict", "alarms", "log", "tracing", "lineage")
_CHOICES_OF_GLUE = ("database", "warehouse")
"""Settings that a user may change in the file; the next start leaves them as they are."""


@dataclass(frozen=True, slots=True)
class _Mode:
    """A way in which a whole stack runs, as it did before unless a start says otherwise."""

    is_on: Callable[[Home], bool]
    turns: tuple[Callable[[Home], None], Callable[[Home], None]]  # off, on
    words: tuple[str, str]
    options: tuple[str, str]
    joins: bool = False  # whether its parts may join a stack that runs

    def turn(self, home: Home, known: Stack, wanted: bool | None) -> None:
        """Turns a stack that is down; its data stays as it is."""
        if wanted in (None, is_on := self.is_on(home)):
            return
        if known.is_running() and not (wanted and self.joins):
            raise ConfigureError(
                f"The stack runs, and it is {self.words[is_on]}.",
                where=str(home.root),
                meaning="Nothing was changed.",
                todo=f"`frazil down`, then `frazil up {self.options[not is_on]}`; data stays.",
            )
        self.turns[not is_on](home)


_LOCKED = _Mode(
    lambda home: locks_of(home) is not None, (unlock, lock), ("open", "locked"), ("--no-secure", "--secure")
)
_CLOUDS = _Mode(
    has_clouds,
    (leave_clouds, add_clouds),
    ("without clouds", "with clouds"),
    ("--without cloud", "--with cloud"),
)
_NORTHWIND = _Mode(
    has_northwind,
    (leave_northwind, add_northwind),
    ("without northwind", "with northwind"),
    ("--without northwind", "--with northwind"),
    joins=True,
)


def known_stack(home: Home) -> Stack:
    """The stack as it was last started; nothing is made."""
    ports = recall(home.ports)
    return Stack(home, ports, _servers(home, ports))


def prepared_stack(
    home: Home,
    chosen: Mapping[str, int],
    offset: int | None = None,
    locked: bool | None = None,
    clouds: bool | None = None,
    northwind: bool | None = None,
) -> Stack:
    """The stack as it is to be started, its ports, locks and profile written.

    For ports see `choose`; a stack is locked, has clouds and Northwind's database as it did, unless `locked`,
    `clouds` or `northwind` say it.
    """
    home.make()
    known = known_stack(home)
    ports = choose(home.ports, chosen, offset)
    if dict(ports) != dict(known.ports) and known.is_running():
        raise ConfigureError(
            "The stack runs with other ports.", where=str(home.ports), todo="`frazil down` first."
        )
    _refuse_locked_northwind(home, locked, northwind)
    _LOCKED.turn(home, known, locked)
    _CLOUDS.turn(home, known, clouds)
    _NORTHWIND.turn(home, known, northwind)
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
        *([catalog(home, ports)] if locks_of(home) else []),
        aws(home, ports),
        kafka(home, ports, java, jars),
        registry(home, ports, java, jars),
        spark.of_landings,
        spark.of_upkeep,
        snowflake(home, ports),
        *(cloud_servers(home, ports) if has_clouds(home) else []),
        *(northwind_servers(home, ports, java, jars) if has_northwind(home) else []),
    ]


def _refuse_locked_northwind(home: Home, locked: bool | None, northwind: bool | None) -> None:
    """Its parts ask for a password, and show no certificates."""
    will = [
        was if wanted is None else wanted
        for wanted, was in ((locked, locks_of(home)), (northwind, has_northwind(home)))
    ]
    if all(will):
        raise ConfigureError(
            "A locked stack can't have Northwind's database.",
            where=str(home.root),
            meaning="Nothing was changed.",
            todo="`frazil up --no-secure`, or `frazil up --without northwind`.",
        )


def write_profile(home: Home, ports: Ports) -> None:
    """Writes where everything is; only its owner can read it."""
    before = read_profile(home.profile)
    values = _values(home, ports)
    values |= {name: before[name] for name in _CHOICES if name in before}
    if pipelines := with_pipeline(values.pop("pipelines", ""), has_northwind(home)):
        values["pipelines"] = pipelines
    of_glue = before.get("glue", {})
    values["glue"] |= {name: of_glue[name] for name in _CHOICES_OF_GLUE if name in of_glue}
    write_private(home.profile, json.dumps(values, indent=2) + "\n")
    if has_clouds(home):
        write_private(home.administrator, json.dumps(administrator(home, ports), indent=2) + "\n")


def make_dagster_home(home: Home) -> None:
    """Makes DAGSTER_HOME, if it is missing."""
    home.dagster.mkdir(mode=0o700, exist_ok=True)
    if not (file := home.dagster / "dagster.yaml").exists():
        file.write_text(template("dagster.yaml"))


def _values(home: Home, ports: Ports) -> dict[str, Any]:
    credentials = s3_credentials(home)
    return {
        "cluster": "local",
        "dagster_home": str(home.dagster),
        "kafka": kafka_access(home, ports),
        "registry": registry_access(home, ports),
        "aws": {
            "region": credentials.region,
            "access_key": credentials.access_key,
            "secret_key": credentials.secret_key,
        },
        "s3": s3_access(home, ports),
        "glue": {"endpoint": url(ports, "glue"), "warehouse": f"s3://{BUCKET}/warehouse"},
        "rest": rest_access(home, ports),
        "snowflake": {
            **snowflake_login(home, ports, "snowflake"),
            "aws_role_arn": "arn:aws:iam::123456789012:role/snowflake_s3_glue_role",
        },
        "spark": {
            "remote": f"sc://{LOOPBACK}:{ports['spark']}",
            "upkeep_remote": f"sc://{LOOPBACK}:{ports['spark-upkeep']}",
            "token": secret(home, "spark"),
            "parallelism": cores(),
        },
    }
