"""`frazil discover`: pipelines for topics that no pipeline names. See `frazil.discovery`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.selection import Json, Selection, select
from frazil.discovery.files import pipeline_text, write_pipelines
from frazil.discovery.findings import Finding, discover, topic_names
from frazil.errors import UsageError, printable
from frazil.formats.registry.wanted import WantedSchema, read_schema
from frazil.kafka.facts import topic_fact
from frazil.pipelines.folder import pipeline_folders
from frazil.settings.profile import Settings
from frazil.spec.names import things
from frazil.spec.table import AnyTable
from frazil.spec.topic import SCHEMA_KINDS

app = typer.Typer()

_TOPICS = 100

Patterns = Annotated[
    list[str] | None,
    typer.Argument(metavar="TOPIC...", help="Names, or patterns such as 'shop.*'. Default: all topics."),
]
Most = Annotated[int, typer.Option("--topics", min=1, help="Look at this many topics at most.")]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        help="The schema of the values, where the registry has none: .avsc, .json or .proto.",
    ),
]  # fmt: skip
Fields = Annotated[
    bool,
    typer.Option("--fields", help="Of JSON without a schema list the fields in defs.yaml; no schema file."),
]
Write = Annotated[
    bool, typer.Option("--write", help="Write a pipeline for each topic, with its schema files.")
]


@app.command("discover")
def discover_command(
    topics: Patterns = None,
    write: Write = False,
    schema: SchemaFile = None,
    fields: Fields = False,
    most: Most = _TOPICS,
    as_json: Json = False,
) -> None:
    """Look at records of topics that no pipeline names, and propose or write pipelines."""
    selection, wanted = select((), every=True), _schema(schema)
    root = _own_folder(selection.connections.settings) if write else None
    new, named = _topics(selection, topics)
    taken = [things(spec, selection.connections.settings).table for spec in selection.specs]
    with console.status("looking at topics"):
        findings = discover(new[:most], selection.connections, taken, wanted, fields)
    files = write_pipelines(root, findings) if root else []
    commands = _commands(findings, selection.connections.settings) if write else []
    if as_json:
        print_json(
            {
                "topics": [asdict(f) for f in findings],
                "left_out": new[most:],
                "written": [str(file) for file in files],
                "next": commands,
            }
        )
        return
    _show(findings, len(new) - len(findings), named)
    if selection.broken:
        broken = ", ".join(selection.broken)
        console.print(
            f"Topics of pipelines with mistakes are proposed again: {broken}. See `frazil validate`."
        )
    _say_next(files, commands) if write else _propose(findings)


def _schema(file: Path | None) -> WantedSchema | None:
    if file is None:
        return None
    if file.suffix not in SCHEMA_KINDS:
        raise typer.BadParameter(f"{file}: a schema's name ends with {', '.join(SCHEMA_KINDS)}.")
    schema = read_schema(file)
    return WantedSchema(schema.kind, schema.text, file.name)


def _own_folder(settings: Settings) -> Path:
    """Where pipelines are written: the first folder of the setting, for the others come with Frazil."""
    if not settings.pipelines:
        raise UsageError(
            "There is no folder to write pipelines to.",
            where="FRAZIL_PIPELINES is not set",
            meaning="Nothing was written.",
            todo="`frazil init DIR` makes a repository; or set FRAZIL_PIPELINES to a folder of yours.",
        )
    return pipeline_folders(settings)[0]


def _topics(selection: Selection[AnyTable], patterns: Sequence[str] | None) -> tuple[list[str], int]:
    """The topics that no pipeline names, and how many others there are."""
    known = topic_names(selection.connections.admin)
    for name in patterns or ():
        if not any(sign in name for sign in "*?["):
            topic_fact(selection.connections.admin, name)  # says which topics have a name like it
    named = {spec.topic for spec in selection.topics.specs if not spec.connection}
    new = [t for t in known if t not in named and any(fnmatchcase(t, p) for p in patterns or ["*"])]
    return new, len(named & set(known))


def _commands(findings: Sequence[Finding], settings: Settings) -> list[str]:
    names = [str(things(p.spec, settings).table) for f in findings for p in f.proposals]
    commands = [["validate"], ["land", *names]] if names else []
    return [shlex.join(("frazil", *command)) for command in commands]


def _say_next(files: Sequence[Path], commands: Sequence[str]) -> None:
    """What was written; the commands alone are on stdout."""
    for file in files:
        console.print(f"Written: {file}")
    if commands:
        console.print("Read what was written, then:")
    for command in commands:
        sys.stdout.write(f"{command}\n")


def _propose(findings: Sequence[Finding]) -> None:
    """The proposals alone are on stdout."""
    proposals = [p for f in findings for p in f.proposals]
    if proposals:
        sys.stdout.write(pipeline_text(proposals))
    if any(p.files for p in proposals):
        console.print("--write writes it to a folder for each topic, with the schema files that it names.")


def _show(findings: Sequence[Finding], left: int, named: int) -> None:
    table = Table("topic", "records", "bytes each", "bytes a day", "proposed", "why")
    for f in findings:
        daily = "?" if f.bytes_per_day is None else f"{f.bytes_per_day:,}"
        proposed = "yes" if f.proposals else "no"
        why = printable(" ".join(f.notes))
        table.add_row(printable(f.topic), f"{f.records:,}", f"{f.record_bytes:,}", daily, proposed, why)
    print_table(table, console)  # what is asked for is alone on stdout
    if left:
        console.print(f"{left} more topics were not looked at: --topics takes more.")
    others = "" if findings or left else "No topic is left to propose. "
    console.print(f"{others}Topics that are in pipelines already: {named}. Nothing was landed.")
