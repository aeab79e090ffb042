"""Are few enough records bad, since the start and of late?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.checks.result import Number, Subject, Verdict
from frazil.landing.ledger import Ledger, ledgers, read_ledger
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import load_table

if TYPE_CHECKING:
    from pyiceberg.table import Table

__all__ = ["judge_dead_letters"]


def judge_dead_letters(subject: Subject[TableSpec]) -> Verdict:
    """Dead letters per offset landed, of all landings and of the newest; redriven ones no longer count."""
    table = load_table(subject.connections.catalog, subject.things.table)
    ledger, most = read_ledger(table.metadata), subject.spec.max_dead_letter_rate
    if ledger is None:
        return Verdict(True, "Nothing was landed yet: no dead letter.", {"rate": 0.0}, severity="WARN")
    newest = _newest_landing(table) or ledger
    rate, of_late = _rate(ledger.total_dead_letters, ledger.offsets), _rate(newest.dead_letters, newest.read)
    passed = max(rate, of_late) <= most
    text = (
        f"{ledger.total_dead_letters} of {ledger.offsets} offsets are dead letters ({rate:.2%}), "
        f"{newest.dead_letters} of {newest.read} records of the newest landing ({of_late:.2%}); "
        f"{most:.2%} allowed"
        f"{'.' if passed else f': see {subject.things.table.dead_letters} for the reasons.'}"
    )
    numbers: dict[str, Number] = {
        "dead_letters": ledger.total_dead_letters,
        "offsets": ledger.offsets,
        "rate": rate,
        "newest_dead_letters": newest.dead_letters,
        "newest_records": newest.read,
        "newest_rate": of_late,
    }
    return Verdict(passed, text, numbers, severity="WARN")


def _newest_landing(table: Table) -> Ledger | None:
    return next((ledger for _, ledger in ledgers(table.metadata) if ledger.is_landing), None)


def _rate(bad: int, of: int) -> float:
    return bad / of if of else 0.0
