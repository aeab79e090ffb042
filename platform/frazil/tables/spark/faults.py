"""What a failed Spark job, or a file that is gone, means for the table that was worked on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil.errors import (
    CommitConflictError,
    ConfigureError,
    FrazilError,
    NotAllowedError,
    PartDownError,
    WorkersError,
)
from frazil.settings.refusals import is_too_long, storage_refusal
from frazil.tables.catalogs.catalog import STALE, is_gone, is_of_storage

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.errors import PySparkException

_CONFLICT = (
    STALE,
    "CommitFailedException",
    # Columns that came, went or were renamed while the job ran.
    "EXTRA_COLUMNS",
    "CANNOT_FIND_DATA",
    # A branch, a tag or a rollback took a snapshot that was about to expire.
    "Still referenced by refs",
)
_READERS = ("frazil/tables/reading/", "frazil/tables/writing/transfer.py")
"""In the trace of a task that reads files of a table: a user's function may miss others."""

_GONE = ("FileNotFoundError", "NO_SUCH_KEY", "RESOURCE_NOT_FOUND", "iceberg.exceptions.NotFoundException")
"""What a failed job says of a file that expired while it was read."""

_UNKNOWN = "CommitStateUnknownException"
_REFUSED = (
    "Status Code: 403", "AccessDenied", "Access Denied", "ForbiddenException", "NotAuthorizedException",
    "is not authorized to perform", "security token included in the request", "token has expired",
    "Unable to load credentials",
    # Of the client that tasks have.
    "AWS Error ACCESS_DENIED", "AWS Error INVALID_ACCESS_KEY_ID", "AWS Error EXPIRED_TOKEN",
    "HTTP status 403", "InvalidAccessKeyId", "ExpiredToken",
)  # fmt: skip
"""What a failed job says whose identity the catalog or its storage does not take."""

_STORAGE = "The Iceberg catalog or its storage"

_SILENT = {
    # Before Spark: it is Spark who says so.
    _STORAGE: (
        "RESTException", "GlueException", "S3Exception", "SdkClientException",
        "ConnectionClosedException",  # in the middle of a file
    ),
    # INVALID_HANDLE: it came up again, and knows nothing of the job. NO_ACTIVE_SESSION: that was known.
    "Spark": (
        "StatusCode.UNAVAILABLE", "Connection refused", "Socket closed", "RetriesExceeded",
        "RETRIES_EXCEEDED", "INVALID_HANDLE", "NO_ACTIVE_SESSION",
    ),
}  # fmt: skip
"""What a failed job says where a part did not answer."""

_IN_PYTHON = "Traceback (most recent call last)"
_LACKING = re.compile(
    r"ModuleNotFoundError: "
    r"(No module named '(frazil|pyarrow|numpy|pyiceberg|obstore)|frazil .*: Spark's workers)"
)
"""What a task says in whose Python Frazil is missing, or is another one."""

_NAMED = re.compile(r"[\w.]*(Error|Exception|Exit|Interrupt)\b: ")


@dataclass(frozen=True, slots=True)
class Job:
    """A Spark job, as far as its errors speak of it."""

    work: str
    of: str
    unseen: str  # what is true of the data wherever the job fails
    again: str
    # Signs of further parts that did not answer, by the part.
    silent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Further errors, looked for before those that any job has.
    known: Callable[[str], FrazilError | None] = lambda _: None
    # Further errors, looked for after them.
    otherwise: Callable[[PySparkException], FrazilError | None] = lambda _: None


@contextmanager
def spark_job(job: Job) -> Iterator[None]:
    """Turns what Spark throws into one clear error.

    Raises:
        CommitConflictError: Another commit came in between, or the catalog did not say what became of ours.
        WorkersError: Spark's Python workers lack Frazil, or something that comes with it.
        NotAllowedError: The catalog or the storage refuses Spark's identity.
        ConfigureError: The storage refuses a request for what it is.
        PartDownError: Spark, the catalog, the storage, or a part that the job names, does not answer.
        FrazilError: Anything else, and what the job knows itself.
    """
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as e:
        raise _meaning(e, job) from e


@contextmanager
def files_there(table: Table) -> Iterator[None]:
    """Turns a file that is gone into a conflict: a reader of an older head may meet that.

    Raises:
        CommitConflictError: A file that the table names is gone.
    """
    try:
        yield
    except OSError as e:
        if not is_gone(e):
            raise
        raise CommitConflictError(
            f"A file of {'.'.join(table.name())} went while it was read: its snapshot expired meanwhile.",
            where=f"{e!s:.300}",
            meaning="Nothing of this work is visible.",
            todo="Try again. If it lasts, the file is lost: `frazil rollback TABLE --to SNAPSHOT` goes to "
            "before it.",
        ) from e


def cause_line(text: str) -> str:
    """The line of Spark's message that says what happened, without what follows of Java's stack.

    Of a Python worker's trace it is the line that names the error.
    """
    lines = (text.strip() or "no message").splitlines()
    named = (line for line in lines if _IN_PYTHON in text and _NAMED.match(line))
    return f"{next(named, lines[0]):.300}"


def _meaning(error: PySparkException, job: Job) -> FrazilError:
    text = str(error)
    if known := job.known(text):
        return known
    if lacking := next((line for line in text.splitlines() if _LACKING.match(line.strip())), ""):
        return _without(lacking.strip(), job)
    seen = _conflict(text, job) or _refusal(text, job) or _no_storage(text, job) or _silence(text, job)
    return seen or job.otherwise(error) or _failed(text, job)


def _without(lacking: str, job: Job) -> WorkersError:
    return WorkersError(
        "Spark's Python workers lack what Frazil's tasks need.",
        where=f"{job.of}: {lacking}",
        meaning=job.unseen,
        todo="Install Frazil's wheel, of the client's version, in the Python of all workers; `frazil doctor` "
        "tries it.",
    )


def _conflict(text: str, job: Job) -> CommitConflictError | None:
    if _UNKNOWN in text:
        what = f"The catalog did not say whether it took a commit of a {job.work} of {job.of}."
    elif is_file_gone(text):
        what = f"A file went while a {job.work} of {job.of} read it: others wrote it anew, and it expired."
    elif any(sign in text for sign in _CONFLICT):
        what = f"Another commit came in between while a {job.work} of {job.of} was at work."
    else:
        return None
    return CommitConflictError(what, where=cause_line(text), meaning=job.unseen, todo=job.again)


def is_file_gone(text: str) -> bool:
    """Whether a failed job could not read a file that was there when it began."""
    ours = any(sign in text for sign in _READERS) or _GONE[-1] in text
    return ours and any(sign in text for sign in _GONE)


def _refusal(text: str, job: Job) -> NotAllowedError | None:
    # A file whose name no store takes can't be removed either, which may look like a lack of rights.
    if is_too_long(text) or not any(sign in text for sign in _REFUSED):
        return None
    return NotAllowedError(
        "The catalog or its storage gives Spark no access.",
        where=f"{job.of}: {cause_line(text)}",
        meaning=job.unseen,
        todo="Spark's machines may have another identity than Frazil: docs/connect.md says what of "
        "FRAZIL_AWS__... and FRAZIL_REST__... Spark is told, and what its machines must have themselves.",
    )


def _no_storage(text: str, job: Job) -> ConfigureError | None:
    """What the storage will never take is no silence of its: the next try would end alike."""
    refusal = storage_refusal(text)
    if refusal is None:
        return None
    problem, todo = refusal
    return ConfigureError(
        f"The storage refuses what a {job.work} writes or reads.",
        where=f"{job.of}: {problem}",
        meaning=job.unseen,
        todo=todo,
    )


def _silence(text: str, job: Job) -> PartDownError | None:
    signs = {**_SILENT, **job.silent}
    named = (part for part, of_part in signs.items() if any(sign in text for sign in of_part))
    part = _STORAGE if is_of_storage(text) else next(named, None)
    if part is None:
        return None
    return PartDownError(
        f"{part} stopped answering during a {job.work}.",
        where=f"{job.of}: {cause_line(text)}",
        meaning=f"{job.unseen} Files may have been written: nobody reads them.",
        todo=f"`frazil status` shows what runs. {job.again}",
    )


def _failed(text: str, job: Job) -> FrazilError:
    return FrazilError(
        f"The Spark job of a {job.work} failed.",
        where=f"{job.of}: {cause_line(text)}",
        meaning=job.unseen,
        todo="The log of the Spark server has the whole story.",
    )
