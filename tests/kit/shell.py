"""The `frazil` command as scripts and people run it, with a folder of pipelines of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FRAZIL = Path(sys.executable).with_name("frazil")
NAMESPACE = "cli_tests"


@dataclass(frozen=True, slots=True)
class Said:
    """What one command said."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Fails where stdout is anything but one JSON document."""
        return json.loads(self.out)

    @property
    def is_clear(self) -> bool:
        """A failure in words: a message with a next step, no trace, nothing on stdout."""
        return "  Next: " in self.err and "Traceback" not in self.err and not self.out


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell with a folder of pipelines of its own."""

    pipelines: Path

    def write(self, *tables: dict[str, Any], name: str = "one") -> Path:
        file = self.pipelines / name / "defs.yaml"
        file.parent.mkdir()
        attributes = {"tables": [{"namespace": NAMESPACE, **table} for table in tables]}
        document = {"type": "assets.topic_tables.TopicTables", "attributes": attributes}
        file.write_text(yaml.safe_dump(document, sort_keys=False))
        return file

    def __call__(self, *arguments: str, **environment: str) -> Said:
        done = subprocess.run(
            [FRAZIL, *arguments],
            env={**os.environ, "FRAZIL_PIPELINES": str(self.pipelines), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return Said(done.returncode, done.stdout, done.stderr)
