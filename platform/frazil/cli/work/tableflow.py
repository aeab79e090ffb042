"""`frazil adopt` and `release`: a topic moves from Confluent's Tableflow to Frazil, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer

from frazil.cli.console import console, print_json
from frazil.cli.results import run_id
from frazil.cli.selection import Json, Name, select_topics
from frazil.errors import ConfigureError
from frazil.landing.report import LandingReport
from frazil.landing.tableflow.release import release
from frazil.landing.tableflow.takeover import take_over
from frazil.spec.names import TableName, things
from frazil.spec.topic import TableSpec

app = typer.Typer()

Source = Annotated[
    str, typer.Option("--from", metavar="TABLE", help="Tableflow's table. Default: CLUSTER.TOPIC.")
]
Of = Annotated[
    str,
    typer.Option(
        "--of", help="The connection whose catalog has Tableflow's table. Default: the table's own."
    ),
]
Off = Annotated[
    bool, typer.Option("--tableflow-is-off", help="Confirm that Tableflow no longer lands this topic.")
]
AcceptGaps = Annotated[
    bool,
    typer.Option("--accept-gaps", help="Go on even if offsets lack a row and nothing explains it."),
]


@app.command("adopt")
def adopt_command(
    table: Name, source: Source = "", of: Of = "", off: Off = False, accept_gaps: AcceptGaps = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Take a topic over from Tableflow: Frazil goes on in Tableflow's table, after its last row."""
    selection = select_topics([table], every=False)
    ((spec, names),) = selection.pairs
    theirs = TableSpec(topic=spec.topic, mode="tableflow", connection=of or spec.connection)
    default = things(theirs, selection.connections.settings).table
    source_name = TableName.parse(source, default.namespace) if source else default
    if not off:
        raise ConfigureError(
            f"Is Tableflow off for topic {spec.topic}?",
            where=f"its table {source_name}",
            meaning="Two writers of one table undo each other, and Tableflow deletes files that it replaced. "
            "Nothing was changed.",
            todo="Disable Tableflow on the topic, wait until its table stands still, and add "
            "--tableflow-is-off. Do not where Confluent stores the table: it is deleted there days later.",
        )
    clients = selection.connections
    with console.status(f"counting the rows of {source_name}"):
        report = take_over(
            spec, clients.of(spec), source_name, clients.of(theirs), accept_gaps=accept_gaps, run_id=run_id()
        )
    selection.tell(spec, LandingReport(report.table, report.topic, report.snapshot_id, landings=1))
    if as_json:
        print_json(asdict(report))
        return
    console.print(f"{report.table}: {report.rows:,} rows of {report.source}, every offset accounted for.")
    console.print(f"{report.gaps:,} offsets hold no record, {report.given_up:,} were given up.")
    console.print(f"`frazil land {names.table}` goes on at {_text(report.position)}.")


@app.command("release")
def release_command(table: Name, as_json: Json = False) -> None:
    """Stop landing a topic so that Tableflow can land it, and tell where Frazil's rows end."""
    selection = select_topics([table], every=False)
    (spec,) = selection.specs
    report = release(spec, selection.connections.of(spec), run_id=run_id())
    if as_json:
        print_json(asdict(report))
        return
    console.print(f"{report.table} ends before {_text(report.position)}; nothing lands it until `resume`.")
    console.print(
        f"Tableflow begins at {_text(report.first)}: {report.both:,} offsets will be in both tables, "
        f"{report.only_here:,} in this one only."
    )
    console.print(f"Rows of Tableflow's table that this one has not: WHERE {report.where}")


def _text(offsets: Mapping[int, int]) -> str:
    return ", ".join(f"{p}:{at}" for p, at in sorted(offsets.items()))
