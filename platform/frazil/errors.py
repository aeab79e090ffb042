"""Every exception of Frazil, grouped by what its reader should do: retry, repair, configure, stop.

The command line turns `exit_code` into the process's exit code and prints the message alone.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

DEBUG = "FRAZIL_DEBUG"
"""Where this variable is set, a fault of ours is shown with its trace."""

STAYS = "What was published before stays; nothing half done is shown."
"""What it means for the data that a system does not answer, or refuses. Its client can't say that nothing was
changed: it does not know what the work has done before."""

MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What reading stumbles over in foreign text of another shape than it expects."""


class FrazilError(Exception):
    """Root of all errors that Frazil raises on purpose.

    Args:
        what: What happened, in one sentence.
        where: Topic, partition, offset, table, field, file or line.
        meaning: What it means for the data.
        todo: What the reader should do next.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, where: str = "", meaning: str = "", todo: str = "") -> None:
        self.what, self.where, self.meaning, self.todo = map(printable, (what, where, meaning, todo))
        super().__init__(self.what)

    def __str__(self) -> str:
        labelled = (("Where", self.where), ("Data", self.meaning), ("Next", self.todo))
        return "\n".join([self.what, *(f"  {label}: {text}" for label, text in labelled if text)])

    @property
    def document(self) -> dict[str, Any]:
        """The same for scripts."""
        return {"what": self.what, "where": self.where, "meaning": self.meaning, "todo": self.todo}


def printable(text: str) -> str:
    """A text that a terminal shows and does not obey: foreign names in it may hold any sign."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


class RetryError(FrazilError):
    """The same call may succeed later."""


class UnreadableTimesError(RetryError):
    """Spark can't read a record for its own time is none that it knows; Frazil reads it by itself."""


class PartDownError(RetryError):
    """A server that the work needs does not answer."""

    exit_code = 5


class OutOfFilesError(RetryError):
    """The process may open no further file and no further connection."""

    exit_code = 5


class CommitConflictError(RetryError):
    """Others kept committing to the table in between; nothing of this work is visible."""


class CloudSlowError(RetryError):
    """An object in a cloud was not as it should be when the time was up."""

    exit_code = 5


class PlanStaleError(RetryError):
    """The clouds are no longer as a plan saw them; nothing of it was done."""

    exit_code = 4


class CommitUnknownError(PartDownError):
    """The catalog's answer to a commit was lost, and nobody tells whether the commit is there."""


class RepairError(FrazilError):
    """The data or its source must be looked at by a person before work can go on."""


class SuspendedError(RepairError):
    """A record that can't be decoded stops the table; what was good before it is published."""

    exit_code = 3


class ChecksFailedError(RepairError):
    """Rows fail a check of the user's own that stops the table; nothing of it is visible.

    `outcomes` are what each check of the table says.
    """

    exit_code = 3

    def __init__(
        self, what: str, *, where: str = "", meaning: str = "", todo: str = "", outcomes: Sequence[Any] = ()
    ) -> None:
        super().__init__(what, where=where, meaning=meaning, todo=todo)
        self.outcomes = tuple(outcomes)


class SchemaRefusedError(RepairError):
    """The registry asks for a change of the table that would lose or falsify data.

    `field` is the path of the one that has no column; empty where it is the record, or something else.
    """

    exit_code = 3

    def __init__(
        self, what: str, *, where: str = "", meaning: str = "", todo: str = "", field: str = ""
    ) -> None:
        super().__init__(what, where=where, meaning=meaning, todo=todo)
        self.field = field


class TooManyFieldsError(SchemaRefusedError):
    """A schema comes to more fields than a table can be planned with."""


class OffsetsLostError(RepairError):
    """Kafka no longer has records that the table still needs."""


class TopicChangedError(RepairError):
    """The topic is not the one that the table's position speaks of."""


class PositionLostError(RepairError):
    """Nothing tells any more what a table holds of its topic, or of an input that it is made of."""

    exit_code = 3


class UnnamedTableError(RepairError):
    """The catalog has no such table, and the files of one lie where it would be made."""

    exit_code = 3


class RowsLostError(RepairError):
    """A rebuild would lose rows of a table, for its inputs no longer hold what they were made of."""

    exit_code = 3


class AuditFailedError(RepairError):
    """What was written does not add up with what was planned; nothing of it is visible."""


class ConfigureError(FrazilError):
    """Something that a person wrote, or must write, is wrong."""


class UsageError(ConfigureError):
    """What a command or a setting says can't be followed; nothing was begun."""

    exit_code = 2


class NotAllowedError(ConfigureError):
    """A server knows who asks, and does not allow it."""


class WorkersError(ConfigureError):
    """Spark's Python workers lack what the engine's tasks need."""


class ClockError(ConfigureError):
    """The clocks of the machines that write to a table disagree by more than other engines accept."""


class ClientSettingsError(ConfigureError):
    """The settings of a Kafka client can't be read from AWS.

    Args:
        kind: Why, in one word of the source systems' loaders.
        what: As for all errors; so are the others.
    """

    def __init__(self, kind: str, what: str, *, where: str = "", meaning: str = "", todo: str = "") -> None:
        super().__init__(what, where=where, meaning=meaning, todo=todo)
        self.kind = kind


class SpecError(ConfigureError):
    """A pipeline file can't be understood."""

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", meaning: str = "", todo: str = "") -> None:
        super().__init__(what, where=where, meaning=meaning, todo=todo or "Fix the file; docs/spec.md helps.")


class MissingError(ConfigureError):
    """A thing that was named does not exist."""


class NotYetError(MissingError):
    """A topic or a table is not there; one of many that nobody has made so far is no failure."""


class DifferentError(ConfigureError):
    """A thing exists, but not as the spec says, and is not changed silently."""


class QueryChangedError(ConfigureError):
    """A table's rows come from another query than its spec names; a rebuild recomputes them."""

    exit_code = 3


class StopError(FrazilError):
    """There is nothing to do here any more."""


class PausedError(StopError):
    """A person paused the table; nothing is landed until it is resumed."""

    exit_code = 3


class InterruptedWorkError(StopError):
    """Somebody stopped the command by Ctrl-C."""

    exit_code = 130


class OvertakenError(StopError):
    """Another landing or derivation published the same first; this one was dropped."""

    exit_code = 4


class FaultError(FrazilError):
    """Something that nobody foresaw: a fault of Frazil, or of a library that it uses."""


@contextmanager
def behind(done: Callable[[], str]) -> Iterator[None]:
    """Has an error say, in a sentence, what the same call had done before; an empty one: nothing."""
    try:
        yield
    except FrazilError as e:
        if before := done():
            e.meaning = f"{before} Then: {e.meaning}".removesuffix(" Then: ")
        raise


_OUT_OF_FILES = os.strerror(errno.EMFILE)
"""How libraries in C say so, in words of their own around it."""


def explain(error: Exception) -> FrazilError:
    """The error itself if Frazil raised it on purpose; any other one as a fault, which names its class.

    Where a process may open no further file, clients say that their servers do not answer: it is named.
    """
    if is_out_of_files(error):
        return _out_of_files(error)
    if isinstance(error, FrazilError):
        return error
    fault = FaultError(
        f"{type(error).__name__}: {error}",
        todo=f"This is a fault of Frazil; {DEBUG}=1 shows where it lies.",
    )
    fault.__cause__ = error
    return fault


def is_out_of_files(error: BaseException) -> bool:
    """Whether what was met, or what that was made of, is that no further file may be opened."""
    if isinstance(error, OutOfFilesError):
        return False
    met: BaseException | None = error
    while met is not None:
        if getattr(met, "errno", None) == errno.EMFILE or _OUT_OF_FILES in str(met):
            return True
        met = met.__cause__ or met.__context__
    return isinstance(error, PartDownError | FaultError) and not _may_open()


def _may_open() -> bool:
    """Kafka's client says no word of it."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as e:
        return e.errno != errno.EMFILE
    return True


def _out_of_files(error: Exception) -> OutOfFilesError:
    own_error = OutOfFilesError(
        f"{_OUT_OF_FILES}: this process may open no further file and no further connection.",
        where=f"{type(error).__name__}: {error.what if isinstance(error, FrazilError) else error}"[:300],
        meaning=STAYS,
        todo="Let it open more, and start it again: `ulimit -n 65536`, or LimitNOFILE=65536 for systemd.",
    )
    own_error.__cause__ = error
    return own_error
