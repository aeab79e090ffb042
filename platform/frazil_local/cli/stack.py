"""`frazil up`, `down`, `status` and `logs`: the embedded stack."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer
from rich.live import Live
from rich.table import Table
from rich.text import Text

from frazil.cli.console import console, print_json, print_table
from frazil.cli.selection import Json
from frazil.errors import MissingError, PartDownError
from frazil.settings.profile_file import frazil_home
from frazil_local.home import Home
from frazil_local.parts import known_stack, prepared_stack
from frazil_local.ports import parse
from frazil_local.stack import Report, Stack, Status

app = typer.Typer()

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


@app.command()
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


@app.command()
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


@app.command()
def status(as_json: Json = False) -> None:
    """Show whether each part of the embedded stack is up. Exit code 5 if one is not."""
    stack = _known_stack()
    parts = stack.status()
    if as_json:
        document = {"home": str(stack.home.root), "locked": stack.locked}
        print_json({**document, "parts": [asdict(each) for each in parts]})
    else:
        print_table(_status_table(parts))
        if stack.locked:
            console.print(
                "The stack is locked: every part asks who is there. The profile knows how to get in."
            )
    if any(each.state != "up" for each in parts):
        raise typer.Exit(PartDownError.exit_code)


@app.command()
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


def _wanted(group: Group, added: list[Group] | None, left: list[Group] | None) -> bool | None:
    if group in (added or ()) and group in (left or ()):
        raise typer.BadParameter(f"--with {group} and --without {group} contradict each other.")
    return True if group in (added or ()) else False if group in (left or ()) else None


def _known_stack() -> Stack:
    return known_stack(Home(frazil_home()))


@contextmanager
def _progress() -> Iterator[Report]:
    """Shows a table that moves on a terminal, and one line for each news elsewhere."""
    reports: dict[str, str] = {}

    def tell(name: str, text: str) -> None:
        if reports.get(name) != text:
            console.print(f"{name}: {text}")
        reports[name] = text

    if not console.is_terminal:
        yield tell
        return
    with Live(console=console, refresh_per_second=8, get_renderable=lambda: _progress_table(reports)):
        yield reports.__setitem__


def _progress_table(reports: dict[str, str]) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, text in list(reports.items()):
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
