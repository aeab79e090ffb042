"""`frazil up`, `down`, `status` and `env`: the embedded stack."""

from __future__ import annotations

import json
import shlex
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import BaseModel, SecretStr
from rich.live import Live
from rich.table import Table
from rich.text import Text

from frazil.cli.administrator import administered
from frazil.cli.console import console, print_json, print_table
from frazil.cli.selection import Json
from frazil.cloud.deployment import open_clouds, reconciler_of
from frazil.cloud.identities import CROSSING, settings_of
from frazil.errors import MissingError, PartDownError
from frazil.settings.connection import ConnectionSettings
from frazil.settings.profile import Settings, frazil_home, variable
from frazil.settings.secret import revealed

if TYPE_CHECKING:
    from frazil.local.stack import Report, Stack, Status  # an extra: imported by the commands that need it

app = typer.Typer()

_PANEL = "Embedded stack"
_COLOURS = {"up": "green", "down": "dim", "dead": "red", "ill": "red", "failed": "red"}

Secure = Annotated[
    bool | None, typer.Option(help="Whether the parts ask for a login. Default: as at the last start.")
]


class Group(StrEnum):
    """Parts that a stack has if it is asked for them."""

    CLOUD = "cloud"
    NORTHWIND = "northwind"


With = Annotated[
    list[Group] | None,
    typer.Option(
        "--with",
        help="Add stand-ins for the clouds to deploy to, or a PostgreSQL whose tables change. "
        "Default: as at the last start.",
    ),
]
Without = Annotated[
    list[Group] | None, typer.Option("--without", help="Remove these parts. Their data stays.")
]
Only = Annotated[list[str] | None, typer.Option(help="Only this part. May be repeated.")]


@app.command(rich_help_panel=_PANEL)
def up(
    port: Annotated[
        list[str] | None, typer.Option(metavar="NAME=N", help="Use this port for one listener.")
    ] = None,
    port_offset: Annotated[int | None, typer.Option(help="Add this number to every default port.")] = None,
    only: Only = None,
    secure: Secure = None,
    with_: With = None,
    without: Without = None,
    as_json: Json = False,
) -> None:
    """Start all parts of the embedded stack that are not running, and wait for them."""
    from frazil.local.home import Home
    from frazil.local.parts import prepared_stack
    from frazil.local.ports import parse

    groups = {group.value: _wanted(group, with_, without) for group in Group}
    stack = prepared_stack(
        Home(frazil_home()), parse(port or ()), port_offset, secure, groups["cloud"], groups["northwind"]
    )
    with _progress() as report:
        stack.up(report, only or ())
    if as_json:
        print_json({"home": str(stack.home.root), "profile": str(stack.home.profile), "locked": stack.locked})
        return
    console.print(f"The stack is up{', and locked' if stack.locked else ''}. Profile: {stack.home.profile}")


@app.command(rich_help_panel=_PANEL)
def down(
    wipe: Annotated[bool, typer.Option(help="Also delete all its data.")] = False,
    only: Only = None,
    as_json: Json = False,
) -> None:
    """Stop the embedded stack. Its data stays."""
    if wipe and only:
        raise typer.BadParameter("--wipe deletes the data of all parts; leave out --only.")
    stack = _known_stack()
    with _progress() as report:
        stack.down(report, only or ())
    if wipe:
        stack.wipe()
    if as_json:
        print_json({"home": str(stack.home.root), "wiped": wipe, "parts": only or []})
        return
    what = f"Down: {', '.join(only)}. The other parts are as they were." if only else "The stack is down."
    console.print(what + (" Its data is gone." if wipe else ""))


@app.command(rich_help_panel=_PANEL)
def status(as_json: Json = False) -> None:
    """Show whether each part of the embedded stack is up. Exit code 5 if one is not."""
    stack = _known_stack()
    parts = stack.status()
    if as_json:
        told = {"home": str(stack.home.root), "locked": stack.locked}
        print_json({**told, "parts": [asdict(each) for each in parts]})
    else:
        print_table(_status_table(parts))
        if stack.locked:
            console.print(
                "The stack is locked: every part asks who is there. The profile knows how to get in."
            )
    if any(each.state != "up" for each in parts):
        raise typer.Exit(PartDownError.exit_code)


@app.command(rich_help_panel=_PANEL)
def logs(
    part: Annotated[str, typer.Argument(help="The part, by its name in `frazil status`.")],
    lines: Annotated[int, typer.Option(min=1, help="How many lines to print.")] = 100,
    as_json: Json = False,
) -> None:
    """Print the last lines of a part's log."""
    file = _known_stack().log_of(part)
    if not file.exists():
        raise MissingError(f"{part} was never started here.", where=str(file), todo="Run `frazil up` first.")
    with file.open(encoding="utf-8", errors="replace") as log:
        last = [line.rstrip("\n") for line in deque(log, lines)]
    if as_json:
        print_json({"part": part, "file": str(file), "lines": last})
    else:
        typer.echo("\n".join(last))


@app.command(rich_help_panel=_PANEL)
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
    settings = Settings.load()
    spec = administered(settings, name).spec
    reconciler = reconciler_of(spec, settings)
    with console.status("asking the clouds"):
        known = reconciler.part(set(CROSSING) & set(reconciler.addresses)).facts()
        return settings_of(spec, known, open_clouds(spec, settings).secrets, settings)


def _wanted(group: Group, added: list[Group] | None, left: list[Group] | None) -> bool | None:
    if group in (added or ()) and group in (left or ()):
        raise typer.BadParameter(f"--with {group} and --without {group} contradict each other.")
    return True if group in (added or ()) else False if group in (left or ()) else None


def _known_stack() -> Stack:
    from frazil.local.home import Home
    from frazil.local.parts import known_stack

    return known_stack(Home(frazil_home()))


@contextmanager
def _progress() -> Iterator[Report]:
    """Shows a table that moves on a terminal, and one line for each news elsewhere."""
    said: dict[str, str] = {}

    def tell(name: str, text: str) -> None:
        if said.get(name) != text:
            console.print(f"{name}: {text}")
        said[name] = text

    if not console.is_terminal:
        yield tell
        return
    with Live(console=console, refresh_per_second=8, get_renderable=lambda: _progress_table(said)):
        yield said.__setitem__


def _progress_table(said: dict[str, str]) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, text in list(said.items()):
        table.add_row(name, Text(text, _COLOURS.get(text, "yellow")))
    return table


def _status_table(parts: list[Status]) -> Table:
    table = Table("part", "state", "port", "process", "memory", "", box=None)
    for each in parts:
        memory = f"{each.memory / 2**20:.0f} MB" if each.pid else ""
        state = Text(each.state, _COLOURS[each.state])
        text = f"{each.text}; log: {each.log}" if each.state in ("dead", "ill") else each.text
        table.add_row(each.name, state, str(each.port), str(each.pid or ""), memory, text)
    return table


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
        "AWS_ENDPOINT_URL_S3": settings["s3"]["endpoint"],
        "AWS_ENDPOINT_URL_GLUE": settings["glue"]["endpoint"],
        "DAGSTER_HOME": settings["dagster_home"],
    }
