"""`frazil rotate`: replaces the keys of a deployment while they are in use."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import typer
from rich.table import Table

from frazil.cli.console import complain, console, print_json, print_table
from frazil.cli.selection import Json
from frazil.settings.profile import Settings
from frazil_cloud.cli.administrator import administered, ask_for_keys
from frazil_cloud.cli.progress import tell_waiting
from frazil_cloud.rotation.deployment import Outcome, rotation_of
from frazil_cloud.rotation.turn import WHATS, what_of

app = typer.Typer()

Name = Annotated[str, typer.Argument(help="The deployment. May be left out if there is only one.")]
Whats = Annotated[
    list[str] | None,
    typer.Option("--what", help=f"Only these: {', '.join(WHATS)}. May be given several times."),
]
Now = Annotated[bool, typer.Option("--now", help="Also replace keys that are not old yet.")]


@app.command()
def rotate(name: Name = "", whats: Whats = None, now: Now = False, as_json: Json = False) -> None:
    """Replace old API keys and Snowflake's old RSA keys. Those in use go on working.

    Clients follow without a restart. Exit codes: 0 all keys are young, or were replaced; 1 a key rests, try
    later; 5 a cloud does not answer.
    """
    settings = Settings.load()
    spec = administered(settings, name).spec
    ask_for_keys(spec, settings)
    rotation = rotation_of(spec, settings, hear=partial(tell_waiting, as_json=as_json))
    outcomes: list[Outcome] = []
    with console.status(f"rotating the keys of {spec.name}") as status:
        for outcome in rotation.turn_due(map(what_of, whats or ()), now=now):
            outcomes.append(outcome)
            status.update(f"{spec.name}: {outcome.what}")
    print_json([each.document for each in outcomes]) if as_json else _show(outcomes)
    failed = [each for each in outcomes if each.error]
    for each in failed:
        if each.error:
            complain(each.error, each.what)
    if failed:
        raise typer.Exit(max(each.error.exit_code for each in failed if each.error))


def _show(outcomes: Sequence[Outcome]) -> None:
    table = Table("what", "key", "age", "done")
    for each in outcomes:
        key = each.turned.key if each.turned else each.age.key if each.age else "-"
        table.add_row(each.what, key, _age(each), _done(each))
    print_table(table)


def _age(outcome: Outcome) -> str:
    if outcome.turned or outcome.age is None:
        return "new" if outcome.turned else "-"
    return f"{(datetime.now(UTC) - outcome.age.created).days} d"


def _done(outcome: Outcome) -> str:
    if outcome.error:
        return "failed"
    if outcome.turned is None:
        return f"nothing; due {outcome.age.due:%Y-%m-%d}" if outcome.age else "nothing"
    revoked = len(outcome.turned.revoked)
    return f"in place of {outcome.turned.instead_of or 'none'}" + (f"; {revoked} revoked" if revoked else "")
