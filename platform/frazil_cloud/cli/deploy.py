"""`frazil deploy`: plans, makes, proves and removes a deployment in the clouds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import stamina
import typer
from rich.text import Text

from frazil.cli.console import complain, console, print_json
from frazil.cli.selection import Json
from frazil.cli.views.graph import draw_files
from frazil.errors import PlanStaleError
from frazil.graph import Asset, AssetGraph
from frazil.telemetry.logs import configure_logs
from frazil_cloud.cli.administrator import (
    AdminSecret,
    ApiKey,
    ApiSecret,
    Arguments,
    DayCount,
    DeployCommand,
    KeysKept,
    OffsetReset,
    Profile,
    Warehouse,
    administered,
    ask_for_keys,
    debug_log,
    find_deployment,
)
from frazil_cloud.cli.progress import progress, tell_waiting
from frazil_cloud.deployment import reconciler_of
from frazil_cloud.graph import Report
from frazil_cloud.plan import Plan
from frazil_cloud.reconciler import Reconciler
from frazil_cloud.spec.deployment import DeploymentSpec

app = typer.Typer()

_DEBUG_LOG = Path("frazil-deploy-debug.log")
_DRIFTED = 3
_PATIENCE = {"verify": 2}
_LONG = 30
"""Minutes that an object may take: what is there must work soon, what is made takes its time."""
_LOOKS = 5
"""At clouds that change between a look and the deed."""
_WELL = "Everything is as it should be."
_COLOURS = {"create": "green", "update": "yellow", "delete": "red", "hold": "dim", "blocked": "bold red"}
_VERBS = {
    "create": "to make",
    "update": "to change",
    "delete": "to delete",
    "blocked": "that nobody can change",
}

Action = Literal["plan", "create", "verify", "drift", "delete", "graph"]
What = Annotated[Action, typer.Argument(help="What to do.", show_default=False)]
Name = Annotated[str, typer.Argument(help="The deployment. May be left out if there is only one.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Agreed = Annotated[
    str, typer.Option("--plan", metavar="DIGEST", help="Go on only if the plan has this digest.")
]
Debug = Annotated[bool, typer.Option("--debug", help=f"Write requests and answers to {_DEBUG_LOG}.")]
Patience = Annotated[
    int | None,
    typer.Option(
        metavar="MINUTES", min=1, help="Minutes that one object may take. Default: 30, and 2 to verify it."
    ),
]
RemoveData = Annotated[
    bool,
    typer.Option("--remove-data", help="Also remove topics and buckets that are no longer in the file."),
]
Adopt = Annotated[
    bool,
    typer.Option("--adopt", help="Take over an environment that has the deployment's name, and no mark."),
]
Only = Annotated[
    Literal["confluent", "snowflake"] | None, typer.Option(help="For delete: remove this part alone.")
]
Out = Annotated[list[Path] | None, typer.Option(help="For graph: a .svg or .png file.")]


@dataclass(frozen=True, slots=True)
class _Work:
    """What one call is about."""

    spec: DeploymentSpec
    reconciler: Reconciler
    agreed: str
    yes: bool
    as_json: bool
    out: tuple[Path, ...]
    only: str


@app.command(cls=DeployCommand)
def deploy(
    action: What,
    name: Name = "",
    profile: Profile = None,
    confluent_api_key: ApiKey = None,
    confluent_api_secret: ApiSecret = None,
    admin_secret: AdminSecret = None,
    day_count: DayCount = None,
    auto_offset_reset: OffsetReset = None,
    keys_kept: KeysKept = None,
    snowflake_warehouse: Warehouse = None,
    agreed: Agreed = "",
    yes: Yes = False,
    remove_data: RemoveData = False,
    adopt: Adopt = False,
    only: Only = None,
    patience: Patience = None,
    debug: Debug = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Plan, create, verify or delete a deployment in Confluent Cloud, AWS and Snowflake.

    Exit codes: 85 an argument is wrong, 4 the plan is stale, 3 drift was found, 5 something does not work.
    """
    arguments = Arguments(
        profile, confluent_api_key, confluent_api_secret, admin_secret,
        day_count, auto_offset_reset, keys_kept, snowflake_warehouse,
    )  # fmt: skip
    settings = arguments.settings()
    configure_logs(settings.log, settings)
    find = find_deployment if action == "graph" else administered
    spec = arguments.spec(find(settings, name))
    if action != "graph":
        ask_for_keys(spec, settings)
    with debug_log(settings, _DEBUG_LOG if debug else None):
        minutes = patience or _PATIENCE.get(action, _LONG)
        wants = {"removes_data": remove_data, "adopts": adopt}
        hear = partial(tell_waiting, as_json=as_json)
        reconciler = reconciler_of(spec, settings, **wants, patience=60.0 * minutes, hear=hear)
        work = _Work(spec, reconciler, agreed, yes, as_json, tuple(out or ()), only or "")
        _ACTIONS[action](work)


def _plan(work: _Work) -> None:
    _compared(work, _WELL)


def _drift(work: _Work) -> None:
    if _compared(work, "Nothing has drifted.").news:
        raise typer.Exit(_DRIFTED)


def _create(work: _Work) -> None:
    use = f'eval "$(frazil env --deployment {work.spec.name})"'
    following = f"{work.spec.name} is there. Work with it, in a shell of its own: {use}"
    _carry_out(work, work.reconciler.plan, work.reconciler.apply, _WELL, following)


def _delete(work: _Work) -> None:
    what = f"{work.spec.name}'s part {work.only}" if work.only else work.spec.name
    look = partial(work.reconciler.removal, work.only)
    do = partial(work.reconciler.destroy, only=work.only)
    _carry_out(work, look, do, "Nothing is left of it.", f"{what} is gone.")


def _verify(work: _Work) -> None:
    with progress() as report:
        outcomes = work.reconciler.verify(report)
    wrong = {address: error for address, error in outcomes.items() if error}
    if work.as_json:
        print_json({address: error.document if error else None for address, error in outcomes.items()})
    for address, error in wrong.items():
        complain(error, address)
    console.print(f"{len(outcomes) - len(wrong)} of {len(outcomes)} objects work.")
    if wrong:
        raise typer.Exit(max(5, *(error.exit_code for error in wrong.values())))


def _graph(work: _Work) -> None:
    picture = picture_of(work.reconciler)
    files = draw_files(picture, work.out or (Path(f"{work.spec.name}.svg"),))
    if work.as_json:
        print_json({"assets": len(picture.assets), "edges": len(picture.edges), "files": [*files]})
    else:
        console.print(f"{len(picture.assets)} objects in {' and '.join(map(str, files))}")


_ACTIONS: Mapping[Action, Callable[[_Work], None]] = {
    "plan": _plan, "create": _create, "verify": _verify, "drift": _drift, "delete": _delete, "graph": _graph,
}  # fmt: skip


def picture_of(reconciler: Reconciler) -> AssetGraph:
    """The objects of a deployment, each cloud a group."""
    return AssetGraph(
        tuple(
            Asset(path, path[0], path[0], tuple(tuple(need.split("/")) for need in reconciler.needs(address)))
            for address in sorted(reconciler.addresses)
            for path in [tuple(address.split("/"))]
        )
    )


def _look(read: Callable[[], Plan]) -> Plan:
    with console.status("asking the clouds"):
        return read()


def _compared(work: _Work, nothing: str) -> Plan:
    plan = _look(work.reconciler.plan)
    if work.as_json:
        print_json(plan.document)
    else:
        _show(plan, nothing)
    return plan


def _carry_out(
    work: _Work, look: Callable[[], Plan], do: Callable[[Plan, Report], object], nothing: str, following: str
) -> None:
    """Does what a plan says, once it was agreed to, and tells how long it took.

    A plain --yes is good for the next plan, too: phases in the clouds change while one looks.
    """
    stale = PlanStaleError if work.yes and not work.agreed else ()
    for attempt in stamina.retry_context(on=stale, attempts=_LOOKS, wait_initial=1.0):
        with attempt:
            plan = _look(look)
            _agree(work, plan, nothing)
            began = time.monotonic()
            if plan.news:
                with progress() as report:
                    do(plan, report)
    seconds = time.monotonic() - began
    if work.as_json:
        print_json({**plan.document, "seconds": round(seconds, 1)})
    else:
        console.print(f"{following} ({seconds:.0f} s)" if plan.news else following)


def _show(plan: Plan, nothing: str) -> None:
    """A plan like a diff."""
    for step in (*plan.held_back, *plan.news):
        console.print(Text(str(step), _COLOURS[step.action]))
    counts = [(verb, sum(step.action == action for step in plan.news)) for action, verb in _VERBS.items()]
    counts_text = ", ".join(f"{count} {verb}" for verb, count in counts if count)
    console.print(f"{counts_text}. Plan {plan.digest}" if counts_text else nothing)


def _agree(work: _Work, plan: Plan, nothing: str) -> None:
    """Shows what will be done, and asks whether it shall."""
    if not work.as_json:
        _show(plan, nothing)
    if work.agreed and work.agreed != plan.digest:
        raise PlanStaleError(
            f"The clouds changed since plan {work.agreed}.",
            where=f"Now it would be plan {plan.digest}.",
            meaning="Nothing was done.",
            todo="Look at the new plan, and agree to it.",
        )
    if not plan.news or work.yes or work.agreed:
        return
    if not console.is_terminal:
        raise typer.BadParameter("nobody can be asked here: give --yes, or --plan DIGEST.")
    typer.confirm("Do it?", abort=True, err=True)
