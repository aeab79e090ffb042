"""What is wrong, and who was told of it: one alarm per cause, and one when it is over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel

from frazil.errors import FrazilError, PartDownError

REPEAT_AFTER = 24 * 3600.0
"""Seconds after which a cause that is still there is told again."""

_AFTERWARDS = 300.0
"""Seconds within which a run that waited for a silent part ends; one that fails later is news."""

_LONGEST = 500  # characters of an alarm's text: the journal of a thousand tables stays below 1 MB

Word = Literal["new", "still", "over"]


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """What may be in order or not: a check of a table, a step of a run, a part of the stack."""

    kind: Literal["check", "part", "run"]
    name: str  # of the check, the part or the step
    table: str = ""  # or the asset that a check guards; empty where it is not about one

    def __str__(self) -> str:
        return f"{self.kind} {self.name}{f' of {self.table}' if self.table else ''}"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a subject is not in order.

    `name` is a heading of docs/runbook.md: the class of an error, or the name of a check.
    """

    name: str
    text: str
    severity: Literal["WARN", "ERROR"] = "ERROR"

    @classmethod
    def of(cls, error: FrazilError) -> Cause:
        """The class of an error, and its words."""
        return cls(type(error).__name__, str(error))


Findings = Mapping[Subject, Cause | None]
"""How subjects stand; None: in order."""


def without_echoes(findings: Findings, *, was_down: bool = False) -> Findings:
    """Leaves out failed runs whose cause is told already: a part that is down, a table that is stopped.

    Args:
        was_down: A part was silent a moment ago: runs that waited for it end, and are noted, behind its end.
    """
    causes = {subject: cause for subject, cause in findings.items() if cause}
    is_down = was_down or any(subject.kind == "part" for subject in causes)
    stopped = {s.table for s, c in causes.items() if s.name == "freshness" and c.severity == "ERROR"}
    echoes = {
        subject
        for subject, cause in causes.items()
        if subject.kind == "run"
        and (subject.table in stopped or (is_down and cause.name == PartDownError.__name__))
    }
    return {subject: cause for subject, cause in findings.items() if subject not in echoes}


@dataclass(frozen=True, slots=True)
class Alarm:
    """What a channel tells of one subject."""

    word: Word
    subject: Subject
    cause: Cause
    since: float  # seconds since the epoch


class _Entry(BaseModel):
    """A subject that is not in order, or of which somebody must still hear that it is again."""

    subject: Subject
    cause: Cause
    since: float
    is_over: bool = False
    told: dict[str, tuple[bool, float]] = {}  # by channel: whether it heard that it is over, and when

    def owed(self, channel: str, now: float) -> Word | None:
        """What a channel must hear now."""
        knows_end, at = self.told.get(channel, (None, 0.0))
        if knows_end == self.is_over:
            return "still" if not self.is_over and now - at >= REPEAT_AFTER else None
        return "over" if self.is_over else "new"


def _is_worse(cause: Cause, than: Cause) -> bool:
    """Whether it is to be told beside another one: it is not the same, or the warning is an error now."""
    return cause.name != than.name or (cause.severity, than.severity) == ("ERROR", "WARN")


class Journal(BaseModel):
    """All that is not in order, as text to be stored (`model_dump_json`)."""

    entries: list[_Entry] = []
    silent_at: float = 0.0  # when a part was last seen to be down, in seconds since the epoch

    def was_down(self, now: float) -> bool:
        """Whether a part was silent a moment ago."""
        return now - self.silent_at < _AFTERWARDS

    def judge(self, findings: Findings, now: float) -> None:
        """Notes how subjects stand. What is not judged stays as it was."""
        if any(cause and subject.kind == "part" for subject, cause in findings.items()):
            self.silent_at = now
        known = {entry.subject: entry for entry in self.entries}
        for subject, cause in findings.items():
            entry = known.get(subject)
            if cause is None:
                if entry:
                    entry.is_over = True
            elif entry is None or _is_worse(cause, entry.cause):
                short = replace(cause, text=cause.text[:_LONGEST].encode(errors="replace").decode())
                began = entry.since if entry and not entry.is_over and entry.cause.name == cause.name else now
                known[subject] = _Entry(subject=subject, cause=short, since=began)
            elif entry.is_over:
                known[subject] = entry.model_copy(update={"is_over": False, "since": now})
        self.entries = sorted(known.values(), key=lambda entry: entry.subject)

    @property
    def open(self) -> list[Alarm]:
        """What is not in order now, with those first that are so for the longest time."""
        entries = [entry for entry in self.entries if not entry.is_over]
        alarms = [Alarm("still", entry.subject, entry.cause, entry.since) for entry in entries]
        return sorted(alarms, key=lambda alarm: alarm.since)

    def owed(self, channel: str, now: float) -> list[Alarm]:
        """The alarms that a channel must hear now."""
        words = ((entry, entry.owed(channel, now)) for entry in self.entries)
        return [Alarm(word, entry.subject, entry.cause, entry.since) for entry, word in words if word]

    def note(self, channel: str, alarms: Iterable[Alarm], now: float) -> None:
        """Remembers that a channel has heard them."""
        heard = {alarm.subject: alarm.word == "over" for alarm in alarms}
        for entry in self.entries:
            if entry.subject in heard:
                entry.told = {**entry.told, channel: (heard[entry.subject], now)}

    def forget(self, channels: Iterable[str]) -> None:
        """Drops what is over, where all channels have heard so."""
        names = list(channels)
        self.entries = [
            entry
            for entry in self.entries
            if not (entry.is_over and all(entry.told.get(name, (False,))[0] for name in names))
        ]
