"""The life of a deployment from its plan to nothing, by the command: on stand-ins, or in real clouds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from frazil.publishing.snowflake.connection import open_snowflake, rows
from frazil.settings.profile import Settings
from frazil.tables.catalogs.catalog import open_catalog
from kit.clouds.in_clouds import in_it
from kit.runs.shell import Output

ROWS = pa.table({"symbol": ["ZTEST", "ZVV"], "price": [5, 7]})

Frazil = Callable[..., Output]


class AnyClouds(Protocol):
    """Three clouds, asked without any of Frazil's own clients."""

    def everything(self) -> list[str]:
        """All that is there."""

    def secrets(self) -> list[str]:
        """All passwords and private keys that were made."""

    def runner(self) -> dict[str, str]:
        """The keys at AWS of somebody who works in the deployment."""

    def tamper(self) -> set[str]:
        """What others do by hand, and which objects then differ."""


def live(deployment: dict[str, Any], clouds: AnyClouds, frazil: Frazil) -> None:
    """A deployment is planned, made, proved, worked in, changed by others, healed, and removed twice."""
    before = clouds.everything()
    planned = done(frazil("deploy", "plan", "--json")).document
    assert {step["action"] for step in planned["steps"]} == {"create"}

    done(frazil("deploy", "create", "--plan", planned["digest"], "--debug"))
    assert done(frazil("deploy", "plan", "--json")).document["steps"] == []
    assert set(done(frazil("deploy", "verify", "--json")).document.values()) == {None}
    log, secrets = Path("frazil-deploy-debug.log").read_text(), clouds.secrets()
    assert "confluent/key/app_consumer: ready" in log
    assert len(secrets) > 6
    assert [secret for secret in secrets if secret in log] == []

    values = done(frazil("env", "--deployment", deployment["name"], "--json")).document
    work_in_it(deployment, clouds, values)
    refuse_who_works_in_it(deployment["name"], frazil)

    differ = clouds.tamper()
    drifted = frazil("deploy", "drift", "--json")
    assert drifted.code == 3
    assert differ <= {step["address"] for step in drifted.document["steps"]}
    done(frazil("deploy", "create", "--yes"))
    done(frazil("deploy", "drift"))
    done(frazil("deploy", "verify"))

    done(frazil("deploy", "delete", "--yes"))
    assert "Nothing is left of it." in done(frazil("deploy", "delete", "--yes")).err
    assert clouds.everything() == before


def work_in_it(deployment: dict[str, Any], clouds: AnyClouds, values: dict[str, Any]) -> None:
    """Writes and reads a table, and logs in at Snowflake, with the identities that were made."""
    name = deployment["name"]
    values["aws"] |= clouds.runner()
    settings = Settings.load(**values)

    table = open_catalog(settings).create_table(f"{name}.proof", ROWS.schema)
    table.append(ROWS)
    assert table.location().startswith(f"s3://{deployment['aws']['bucket']}/warehouse/")
    assert table.scan().to_arrow().num_rows == ROWS.num_rows
    with open_snowflake(settings) as connection:
        seen = rows(connection, "SHOW WAREHOUSES")  # those that the role may use
    assert settings.snowflake.user == f"{name}_USER".upper()
    assert f"{name}_WAREHOUSE".upper() in seen[0]
    password = settings.kafka.password
    assert password
    assert password.get_secret_value() in clouds.secrets()


def refuse_who_works_in_it(name: str, frazil: Frazil) -> None:
    """Who evaluated `frazil env --deployment NAME` administers nothing; the line that is named fixes it."""
    inside = in_it(frazil, name)
    for command in (("deploy", "drift"), ("deploy", "create", "--yes"), ("rotate",)):
        result = frazil(*command, **inside)
        assert result.is_clear, result.err
        assert f"who work in {name}" in " ".join(result.err.split()), result.err
    assert frazil("env", "--deployment", name, **inside).code == result.code

    taken_back = set(" ".join(result.err.split()).partition("unset ")[2].split("`")[0].split())
    assert taken_back < inside.keys()
    done(frazil("deploy", "drift", **{k: v for k, v in inside.items() if k not in taken_back}))


def done(expected: Output) -> Output:
    assert expected.code == 0, expected.err
    return expected
