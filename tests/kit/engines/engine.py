"""The engines that read tables here, each in a process of its own, and what became of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import IO, Any

from frazil.connections import Connections
from kit.engines import trino
from kit.runs.waiting import PATIENCE

__all__ = ["ENGINES", "OTHERS", "TRINO", "Answer", "Engine", "Reading", "place"]

_KIT = Path(__file__).parent
_ROOT = _KIT.parents[2]
OTHERS = "FRAZIL_TEST_READERS"
"""The Python of the engines that are not in the locked environment; `make readers` says which."""


TRINO = "trino"


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a table as an engine has them, or why it has none."""

    version: str
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    refused: str = ""

    def records(self) -> list[dict[str, Any]]:
        """Rows as columns by name."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine.

    Args:
        locked: Whether it is part of the environment that Frazil has; the others have one of their own.
    """

    name: str
    title: str
    locked: bool = False

    @property
    def python(self) -> str | None:
        """Its environment's, if that was made."""
        if self.name == TRINO:  # its script asks a server
            return sys.executable if trino.is_there() else None
        return sys.executable if self.locked else os.environ.get(OTHERS)

    def start(self, log: IO[str]) -> subprocess.Popen[str]:
        """A process of it that waits for tables; what it says beside goes into a file."""
        assert self.python
        ours = os.pathsep.join(map(str, (_ROOT / "platform", _ROOT / "tests"))) if self.locked else ""
        script = _KIT / "scripts" / f"by_{self.name}.py"
        return subprocess.Popen(
            [self.python, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "PYTHONPATH": ours},
            text=True,
        )


ENGINES = (
    Engine("spark", "Spark", locked=True),
    Engine("pyiceberg", "PyIceberg", locked=True),
    Engine("duckdb", "DuckDB", locked=True),
    Engine(TRINO, "Trino"),
    Engine("clickhouse", "ClickHouse"),
    Engine("polars", "Polars"),
    Engine("daft", "Daft"),
    Engine("datafusion", "DataFusion"),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a script is asked for."""

    table: str
    metadata: str
    columns: Sequence[str]
    snapshot: int | None
    s3: Mapping[str, str] = field(repr=False)
    address: str = ""  # of Trino


def place(connections: Connections) -> Mapping[str, str]:
    """Where the files are, and who may read them."""
    s3, aws = connections.settings.s3, connections.settings.aws
    assert s3.endpoint
    assert aws.access_key
    assert aws.secret_key
    secret = {"key": aws.access_key.get_secret_value(), "secret": aws.secret_key.get_secret_value()}
    return {"endpoint": s3.endpoint, "region": aws.region, **secret}


@dataclass
class Reading:
    """An engine at work; one that dies over a table is started again for the next one."""

    engine: Engine
    log: IO[str]
    process: subprocess.Popen[str] | None = None

    def read(self, asked: Asked) -> Answer:
        """The rows of a table."""
        self.process = self.process or self.engine.start(self.log)
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(asdict(asked)) + "\n")
        self.process.stdin.flush()
        ends = Timer(PATIENCE, self.process.kill)
        ends.start()
        line = self.process.stdout.readline()
        ends.cancel()
        if line:
            return Answer(**json.loads(line))
        code, self.process = self.process.wait(), None
        self.log.seek(0)
        return Answer("", refused=f"its process ended by {code}: {self.log.read()[-500:]}")

    def close(self) -> None:
        """Ends the process."""
        if self.process:
            self.process.communicate()

    @classmethod
    @contextmanager
    def of(cls, engine: Engine) -> Iterator[Reading]:
        """An engine for some tables."""
        with TemporaryFile("w+") as log:
            made = cls(engine, log)
            try:
                yield made
            finally:
                made.close()
