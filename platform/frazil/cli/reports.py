"""Landings and derivations as commands show them: for people, and for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from frazil.cli.console import console, print_table
from frazil.exact import iso_moment
from frazil.landing.checking.outcome import CheckOutcome
from frazil.landing.report import LandingReport

if TYPE_CHECKING:
    from frazil.derive.report import DeriveReport


def landed(report: LandingReport) -> dict[str, Any]:
    """A landing for scripts."""
    return {**asdict(report), "spans": report.spans or {}}


def show_landings(reports: list[LandingReport]) -> None:
    """Landings for people."""
    table = Table(
        "table", "records", "dead letters", "skipped", "gaps", "partitions", "files", "conflicts", "seconds"
    )
    for r in reports:
        numbers = (
            r.records, r.dead_letters, r.skipped, r.gaps, len(r.spans or {}), r.files, r.conflicts
        )  # fmt: skip
        table.add_row(r.table, *(f"{n:,}" for n in numbers), f"{r.seconds:.2f}")
    print_table(table)
    for r in reports:
        if r.inserted or r.updated or r.deleted:
            changed = f"{r.inserted:,} rows inserted, {r.updated:,} updated, {r.deleted:,} deleted."
            console.print(f"{r.table}: {changed}")
        if r.filtered:
            console.print(f"{r.table}: {r.filtered:,} of the skipped records do not match where.")
        _show_failing(r.table, r.checks)
        if r.unasked:
            console.print(
                f"{r.table}: rules of the schema that nobody asked: {', '.join(r.unasked)} (rules: ignore)."
            )
        if r.lost:
            console.print(f"{r.table}: {r.lost:,} offsets that the topic no longer holds were given up.")


def _in_seconds(micros: int) -> str:
    return iso_moment(micros - micros % 1_000_000, zoned=False).replace("T", " ")


def show_derivations(reports: Sequence[DeriveReport]) -> None:
    """Derivations for people."""
    table = Table(
        "table", "kind", "read", "rows", "replaced", "total", "dead letters", "late", "watermark",
        "conflicts", "seconds",
    )  # fmt: skip
    for r in reports:
        counts = (r.input_rows, r.rows, r.removed, r.total_rows, r.bad, r.late)
        mark = "-" if r.watermark is None else _in_seconds(r.watermark)
        table.add_row(
            r.table, r.kind, *(f"{n:,}" for n in counts), mark, str(r.conflicts), f"{r.seconds:.2f}"
        )
    print_table(table)
    for r in reports:
        console.print(r.text)
        _show_failing(r.table, r.checks)


def _show_failing(table: str, checks: Sequence[CheckOutcome]) -> None:
    for check in (check for check in checks if check.failing):
        console.print(f"{table}: check {check.name} fails. {check.text}", style="yellow")
