"""What a process of Dagster's takes first: its imports, and the definitions of many topics.

`python tests/bench/definitions.py [--topics 300]` needs no stack. The topics are in pipelines of five, whose
schemas stand in files. Prints a table on stderr and one line of JSON on stdout.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from figures import Line, show

LOADED = """
import time
from frazil.definitions import defs
begun = time.process_time()
defs().get_repository_def()
print(begun, time.process_time() - begun)
"""
"""Prints the CPU seconds of Dagster's and Frazil's imports, and those of all definitions."""

EACH = 5  # topics in each pipeline
REPEATS = 5
FIELDS = {"id": "long", "user": "string", "amount": "double", "place": ["null", "string"]}


def make_pipelines(folder: Path, topics: int) -> None:
    """Writes pipelines of a few topics each, whose schemas stand in files."""
    fields = [{"name": name, "type": kind} for name, kind in FIELDS.items()]
    for number in range(topics // EACH):
        pipeline = folder / f"shop_{number}"
        pipeline.mkdir()
        names = [f"event_{number}_{i}" for i in range(EACH)]
        for name in names:
            schema = {"type": "record", "name": name, "fields": fields}
            (pipeline / f"{name}.avsc").write_text(json.dumps(schema))
        tables = [{"topic": name, "value_schema": f"{name}.avsc"} for name in names]
        written = {"type": "assets.topic_tables.TopicTables", "attributes": {"tables": tables}}
        (pipeline / "defs.yaml").write_text(json.dumps(written))  # YAML, too


def definitions(topics: int) -> list[Line]:
    """The middle of several runs."""
    with TemporaryDirectory() as folder:
        make_pipelines(Path(folder), topics)
        environment = {**os.environ, "FRAZIL_PIPELINES": folder}
        command = [sys.executable, "-c", LOADED]
        runs = [subprocess.check_output(command, env=environment, text=True).split() for _ in range(REPEATS)]
    imports, loading = (median(map(float, column)) for column in zip(*runs, strict=True))
    return [
        Line("CPU, imports of Dagster's code location", imports, "s"),
        Line(f"CPU, definitions of {topics} topics", loading, "s"),
    ]


def main() -> None:
    """Measures, and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=300)
    show(definitions(parser.parse_args().topics))


if __name__ == "__main__":
    main()
