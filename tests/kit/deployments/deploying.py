"""A process whose children make and remove a deployment, so that each can be killed within milliseconds.

`python deploying.py` answers each line, `create` or `delete`: first the child's number, then what becomes of
each object and what it waits for, at last `ended STATUS`.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stamina.instrumentation import set_on_retry_hooks

from frazil.settings.profile import Settings
from frazil_cloud import patience
from frazil_cloud.aws.client import Aws
from frazil_cloud.deployment import reconciler_of
from frazil_cloud.reconciler import Reconciler, Report
from frazil_cloud.spec.folders import load_deployments

_DEEDS = ("creating", "updating", "deleting")
_WAITS = "waits"
_MOST = 3  # deeds until a run is killed: of more than a hundred in a life
_LONGEST = 8  # waits until then: a plan has a few, and each deed one or more


@dataclass
class Deploying:
    """That process, as tests talk to it."""

    process: subprocess.Popen[str]

    def run(self, what: str, *, after_deeds: int = 0, in_wait: int = 0) -> int:
        """What a child ended with; it is killed once it began so many deeds, or waits for the n-th time."""
        child, begun, waited = int(self._asked(what)), 0, 0
        for line in iter(self._line, ""):
            if line.startswith("ended "):
                return int(line.removeprefix("ended "))
            begun += line.endswith(_DEEDS)
            waited += line.endswith(_WAITS)
            if (line.endswith(_DEEDS) and begun == after_deeds) or (
                line.endswith(_WAITS) and waited == in_wait
            ):
                os.kill(child, signal.SIGKILL)
        raise AssertionError("the process of children ended")

    def killed(self, what: str, times: int, chance: random.Random) -> tuple[int, int]:
        """Runs until it is through, killed so many times on the way, by turns after a deed and in a wait.

        Returns:
            How often it really was, after deeds and in waits.
        """
        met = [0, 0]
        while sum(met) < times:
            in_waits = sum(met) % 2
            when = (
                {"in_wait": chance.randint(1, _LONGEST)}
                if in_waits
                else {"after_deeds": chance.randint(1, _MOST)}
            )
            if self.run(what, **when) != -signal.SIGKILL:
                break
            met[in_waits] += 1
        assert self.run(what) == 0
        return met[0], met[1]

    def _asked(self, what: str) -> str:
        assert self.process.stdin
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return self._line()

    def _line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().rstrip("\n")


@contextmanager
def deploying(environment: Mapping[str, str], log: Path) -> Iterator[Deploying]:
    """The process; what its children complain of goes into the log."""
    with (
        log.open("w") as complaints,
        subprocess.Popen(
            [sys.executable, __file__],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        ) as process,
    ):
        yield Deploying(process)
        assert process.stdin
        process.stdin.close()


def serve() -> None:
    """Answers until nobody asks any more. Clients are opened in the children: nothing is shared with them."""
    set_on_retry_hooks([])  # they print
    patience.SAID_EVERY = 0.05  # each wait, from its first moment
    settings = Settings.load()
    spec = load_deployments(settings, ()).named("").spec
    _warm(settings)
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            sys.stdin.close()
            reconciler = reconciler_of(spec, settings, patience=300, pause=0.5, hear=_say_wait)
            _say(str(os.getpid()))

            def report(address: str, what: str) -> None:
                _say(f"{address} {what}")

            _WORK[line.strip()](reconciler, report)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        _say(f"ended {os.waitstatus_to_exitcode(status)}")


def _warm(settings: Settings) -> None:
    """Reads what each child would read anew for a second: libraries, and AWS' models of its services."""
    import snowflake.connector  # noqa: F401

    aws = Aws(settings.aws)
    for service in ("sts", "iam", "s3", "ssm", "logs", "glue", "secretsmanager"):
        aws.client(service)


def _say(text: str) -> None:
    """One line in one write: several threads tell of their objects."""
    os.write(sys.stdout.fileno(), f"{text}\n".encode())


def _say_wait(waiting: patience.Waiting) -> None:
    """A look that takes its time is no wait: most are those of a plan, when nothing is made yet."""
    if waiting.reason != patience.AN_ANSWER:
        _say(f"{waiting.address} {_WAITS}")


def _create(reconciler: Reconciler, report: Report) -> None:
    reconciler.apply(reconciler.plan(), report)


def _delete(reconciler: Reconciler, report: Report) -> None:
    reconciler.destroy(reconciler.removal(), report)


_WORK = {"create": _create, "delete": _delete}

if __name__ == "__main__":
    serve()
