"""`frazil discover`: lines of YAML for topics that no pipeline names. See `frazil.discovery`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import Annotated

import typer
import yaml
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.selection import Json, select
from frazil.discovery import Finding, discover, topic_names
from frazil.errors import printable
from frazil.kafka.facts import topic_fact
from frazil.spec.names import things

app = typer.Typer()

_TOPICS = 100

Patterns = Annotated[
    list[str] | None,
    typer.Argument(metavar="TOPIC...", help="Names, or patterns such as 'shop.*'. Default: all topics."),
]
Most = Annotated[int, typer.Option("--topics", min=1, help="Look at this many topics at most.")]


@app.command("discover")
def discover_command(topics: Patterns = None, most: Most = _TOPICS, as_json: Json = False) -> None:
    """Look at a few records of topics that no pipeline names, and propose YAML for them."""
    selection = select((), every=True)
    known = topic_names(selection.connections.admin)
    for name in topics or ():
        if not any(sign in name for sign in "*?["):
            topic_fact(selection.connections.admin, name)  # says which topics have a name like it
    named = {spec.topic for spec in selection.topics.specs if not spec.connection}
    new = [t for t in known if t not in named and any(fnmatchcase(t, p) for p in topics or ["*"])]
    taken = [things(spec, selection.connections.settings).table for spec in selection.specs]
    with console.status("looking at topics"):
        findings = discover(new[:most], selection.connections, taken)
    if as_json:
        print_json({"topics": [asdict(f) for f in findings], "left_out": new[most:]})
        return
    _show(findings, len(new) - len(findings), len(named & set(known)))
    if selection.broken:
        broken = ", ".join(selection.broken)
        console.print(
            f"Topics of pipelines with mistakes are proposed again: {broken}. See `frazil validate`."
        )
    if proposals := [f.proposal for f in findings if f.proposal]:
        pipeline = {"type": "assets.topic_tables.TopicTables", "attributes": {"tables": proposals}}
        sys.stdout.write(yaml.safe_dump(pipeline, sort_keys=False))


def _show(findings: Sequence[Finding], left: int, named: int) -> None:
    table = Table("topic", "records", "bytes each", "bytes a day", "proposed", "why")
    for f in findings:
        daily = "?" if f.bytes_per_day is None else f"{f.bytes_per_day:,}"
        proposed = "yes" if f.proposal else "no"
        why = printable(" ".join(f.notes))
        table.add_row(printable(f.topic), f"{f.records:,}", f"{f.record_bytes:,}", daily, proposed, why)
    print_table(table, console)  # the proposal alone is on stdout
    if left:
        console.print(f"{left} more topics were not looked at: --topics takes more.")
    others = "" if findings or left else "No topic is left to propose. "
    console.print(f"{others}Topics that are in pipelines already: {named}. Nothing was landed.")
