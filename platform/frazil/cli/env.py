"""`frazil env`: settings as a shell or a script takes them."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, SecretStr

from frazil.cli.console import print_json
from frazil.cli.selection import Json
from frazil.errors import ConfigureError, MissingError
from frazil.settings.connection import ConnectionSettings
from frazil.settings.profile import Settings, variable
from frazil.settings.profile_file import frazil_home
from frazil.settings.secret import revealed

app = typer.Typer()

GROUP = "frazil.deployments"
"""An entry point of this group is called with a deployment's name, and gives the settings to work in it."""


@app.command()
def env(
    deployment: Annotated[
        str | None, typer.Option(metavar="NAME", help="Print those of this deployment, not of the stack.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the endpoints and credentials of the stack or of a deployment, as exports or JSON."""
    home = frazil_home()
    if deployment is None and not (home / "profile.json").exists():
        raise MissingError("There is no stack here.", where=str(home), todo="Run `frazil up` first.")
    if deployment is None:
        settings = _plain(Settings.of_profile(home / "profile.json"))
        exports = {**_exports(settings), **_for_others(home, settings)}
    else:
        settings = _of_deployment(deployment)
        exports = _exports(settings)
    if as_json:
        print_json(settings)
        return
    for name, value in exports.items():
        text = json.dumps(value) if isinstance(value, dict | bool) else str(value)
        typer.echo(f"export {name}={shlex.quote(text)}")


def _of_deployment(name: str) -> dict[str, Any]:
    for point in entry_points(group=GROUP):
        settings: dict[str, Any] = point.load()(name)
        return settings
    raise ConfigureError("Deployments are not installed here: pip install 'frazil[cloud]'.")


def _plain(value: Any) -> Any:
    """All that is set, secrets in the clear: this command is asked for them."""
    if isinstance(value, SecretStr):
        return revealed(value)
    if isinstance(value, ConnectionSettings):
        return _plain(value.changes)
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, BaseModel):
        plain = ((name, _plain(part)) for name, part in value)
        return {name: part for name, part in plain if part not in (None, "", {})}
    return value


def _exports(settings: dict[str, Any]) -> dict[str, Any]:
    systems = {n: value for n, value in settings.items() if isinstance(value, dict) and n != "connections"}
    return {
        **{variable([name]): settings[name] for name in settings.keys() - systems.keys()},
        **{variable([name, part]): value for name in systems for part, value in systems[name].items()},
    }


def _for_others(home: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """What other programs take, and where the stack is."""
    return {
        "FRAZIL_HOME": home,
        "AWS_ACCESS_KEY_ID": settings["aws"]["access_key"],
        "AWS_SECRET_ACCESS_KEY": settings["aws"]["secret_key"],
        "AWS_REGION": settings["aws"]["region"],
        "AWS_DEFAULT_REGION": settings["aws"]["region"],  # boto3 knows this name alone
        "AWS_ENDPOINT_URL_S3": settings["s3"]["endpoint"],
        "AWS_ENDPOINT_URL_GLUE": settings["glue"]["endpoint"],
        "DAGSTER_HOME": settings["dagster_home"],
        **({"AWS_CA_BUNDLE": settings["s3"]["ca"]} if "ca" in settings["s3"] else {}),
    }
