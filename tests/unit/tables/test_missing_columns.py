"""Where the engine lets Spark take null for a column that it does not find by its name, and why it may.

Elsewhere a column without a source is an error: so a nested field once became null with every check green.
"""

from __future__ import annotations

import re
from pathlib import Path

import frazil

ENGINE = Path(frazil.__file__).parent
WORDS = re.compile(r"allowMissingColumns=True|else 'NULL'|, \"NULL\"\)")

WHY = {
    "derive/kinds.py": "the table's older rows lack columns that its query gained",
    "derive/merging/merge.py": "the table's older rows lack columns that its query gained",
    "derive/merging/windows.py": "each side has its own columns: running totals that are held, and new ones",
    "derive/output.py": "a query may lose a column that its table keeps",
    "landing/upsert/merge.py": "rows of a head lack columns that the landing's branch gained",
    "landing/write.py": "`refuse_unmatched` went before: only the table has the column",
}  # fmt: skip
"""By module."""


def test_null_stands_for_a_missing_column_where_there_is_a_reason_only() -> None:
    modules = {
        str(path.relative_to(ENGINE)) for path in ENGINE.rglob("*.py") if WORDS.search(path.read_text())
    }

    assert modules == WHY.keys()
