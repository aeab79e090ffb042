"""`frazil forget`: rows leave a table, what is made of it, and in the end every file. See docs/forget.md."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from frazil.cli.console import console, print_json, print_table
from frazil.cli.moment import duration_of
from frazil.cli.results import person
from frazil.cli.selection import Json, Name, Selection, select_topics
from frazil.derive.tables import load_tables
from frazil.errors import RepairError, UsageError
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import writable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from frazil.upkeep.forgetting.condition import Condition, condition_of
from frazil.upkeep.forgetting.forget import forget, proofs
from frazil.upkeep.forgetting.proof import Proof
from frazil.upkeep.forgetting.report import ForgetReport, read_report

app = typer.Typer()

Where = Annotated[str, typer.Option(metavar="FILTER", help='Which rows: "user_id = 42", with in, and, or.')]
Keys = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A CSV file of keys; its first line names their columns."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count rows and files.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
After = Annotated[
    str,
    typer.Option(metavar="DURATION", help="When older snapshots and files go. Default: keep_snapshots_for."),
]
Now = Annotated[bool, typer.Option("--now", help="Remove them at once, even if somebody still reads them.")]
Report = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write what went, when and from where, as JSON.")
]
Prove = Annotated[
    Path | None,
    typer.Option(metavar="REPORT", help="Read every object of the report's tables: are the same rows gone?"),
]


@app.command("forget")
def forget_command(
    table: Name, where: Where = "", keys: Keys = None, dry_run: DryRun = False, yes: Yes = False,
    after: After = "", now: Now = False, report: Report = None, prove: Prove = None, as_json: Json = False,
) -> None:  # fmt: skip
    """Forget rows: in a table, its dead letters and what is made of it, and then in every file."""
    if bool(where) == bool(keys):
        raise typer.BadParameter("Say which rows by --where or by --keys.")
    if after and now:
        raise typer.BadParameter("--after says when, --now says at once: give one of both.")
    selection = select_topics([table], every=False)
    ((spec, names),) = selection.pairs
    with catalog_errors(selection.connections.settings):
        schema = TableHandle(selection.connections.of(spec).catalog, names.table).load().schema()
    condition = condition_of(schema, where, keys)
    if prove:
        _prove(selection, spec, condition, prove, as_json)
        return
    kept = duration_of(after, "--after") if after else spec.upkeep.keep_snapshots_for
    seconds = 0.0 if now else kept.total_seconds()
    if not (dry_run or yes):
        _show(_forget(selection, spec, condition, seconds, dry_run=True))
        typer.confirm("These rows can't be brought back. Forget them?", abort=True, err=True)
    done = _forget(selection, spec, condition, seconds, dry_run=dry_run)
    if report:
        report.write_text(json.dumps(done.document, indent=2) + "\n", encoding="utf-8")
    print_json(done.document) if as_json else _show(done)


def _derived() -> tuple[DerivedSpec, ...]:
    return load_tables(Settings.load()).derived


def _forget(
    selection: Selection[TableSpec], spec: TableSpec, condition: Condition, after: float, *, dry_run: bool
) -> ForgetReport:
    with console.status(f"{'counting in' if dry_run else 'forgetting in'} {spec.topic}") as status:
        return forget(
            spec, selection.connections.of(spec), condition, _derived(), after=after, by=person(),
            dry_run=dry_run, on_step=status.update,
        )  # fmt: skip


def _prove(
    selection: Selection[TableSpec], spec: TableSpec, condition: Condition, file: Path, as_json: bool
) -> None:
    report = read_report(file)
    name = writable(spec, selection.connections.settings)
    if (report["table"], report["condition_sha256"]) != (str(name), condition.digest):
        raise UsageError(
            f"The report {file} is of other rows, or of another table.",
            where=f"it is of {report['table']}; the condition's checksum is {condition.digest}",
            todo="Give the --where or --keys that was forgotten.",
        )
    with console.status("reading every object"):
        all_proofs = list(proofs(spec, selection.connections.of(spec), condition, _derived()))
    print_json([asdict(proof) for proof in all_proofs]) if as_json else _show_proofs(all_proofs)
    if left := [each for proof in all_proofs for each in proof.found]:
        raise RepairError(
            f"{len(left)} objects still hold what was to be forgotten.",
            where="\n".join(f"{each.path}: {each.what}" for each in left[:10]),
            meaning="It is not gone.",
            todo=f"`frazil expire {name}` once the time is up; `frazil orphans {name}` for files that no "
            f"snapshot names; `frazil compact {name} --everything` for manifests; a lifecycle rule of the "
            "bucket, or its owner, for older versions.",
        )


def _show_proofs(all_proofs: list[Proof]) -> None:
    table = Table("table", "objects read", "bytes", "with the value")
    for proof in all_proofs:
        table.add_row(proof.table, f"{proof.objects:,}", f"{proof.bytes:,}", str(len(proof.found)))
    print_table(table)


def _show(report: ForgetReport) -> None:
    table = Table("table", "rows", "files")
    for gone in report.gone:
        table.add_row(gone.table, f"{gone.rows:,}", str(len(gone.files)))
    print_table(table)
    for name, why in report.not_told.items():
        console.print(f"{name}: {why}.")
    if report.unread_dead_letters:
        console.print(f"{report.unread_dead_letters:,} dead letters could not be decoded, and may hold some.")
    for text in report.in_the_way:
        console.print(f"In the way: {text}.")
    due = datetime.fromtimestamp(report.due, UTC)
    expired = sum(map(len, report.snapshots.values()))
    gone_by = f"{expired} snapshots went." if report.snapshots else f"Older snapshots go {due:%F %T} UTC."
    console.print(gone_by)
