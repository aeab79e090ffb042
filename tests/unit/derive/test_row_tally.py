"""What a task of a derivation asks of the rows that it writes."""

from __future__ import annotations

import subprocess
import sys


def test_a_task_that_asks_checks_waits_for_no_parser_of_sql() -> None:
    """It was most of a second of CPU in each worker."""
    code = "import sys, frazil.derive.row_tally; print(*sorted({m.split('.')[0] for m in sys.modules}))"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )

    assert "pyarrow" in done.stdout.split()
    assert not {"sqlglot", "pydantic", "pyiceberg", "pyspark"} & {*done.stdout.split()}
