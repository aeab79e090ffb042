"""docs/dbt.md works as it is written, by a dbt in an environment of its own, beside Frazil's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from frazil.connections import Connections
from kit.pages.forgotten import forget
from kit.pages.pages import DBT, Reader
from kit.runs.waiting import PATIENCE

ROOT = Path(__file__).parents[3]
LOCK = Path(__file__).with_name("dbt") / "requirements.lock"
MADE = """
import json, location, dagster, duckdb
node = location.defs.resolve_asset_graph().get(dagster.AssetKey("volumes"))
rows = duckdb.connect("desk.duckdb", read_only=True).execute("SELECT symbol, trades FROM volumes").fetchall()
print(json.dumps([[key.to_user_string() for key in node.parent_keys], dict(rows)]))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of dbt and of Dagster, in the locked versions."""
    folder = tmp_path_factory.mktemp("dbt") / "environment"
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    sync = [uv, "pip", "sync", "--quiet", "--python", folder / "bin" / "python", "--require-hashes", LOCK]
    subprocess.run(sync, check=True)
    return folder / "bin"


@pytest.mark.nightly
def test_dbt_reads_a_table_and_its_model_stands_behind_it_in_the_graph(
    environment: Path, connections: Connections, tmp_path: Path
) -> None:
    folder = tmp_path / "ours"
    folder.mkdir()
    path = os.pathsep.join([str(environment), str(Path(sys.executable).parent), os.environ["PATH"]])
    settings = {"PATH": path, "DO_NOT_TRACK": "1", "DAGSTER_DISABLE_TELEMETRY": "yes"}
    forget(connections, "booked_trades")
    try:
        Reader(folder, tmp_path, settings).do(ROOT / DBT)
        landed = connections.catalog.load_table(("local", "booked_trades")).scan().to_arrow()
    finally:
        forget(connections, "booked_trades")
    made = subprocess.run(
        [environment / "python", "-c", MADE],
        cwd=folder / "desk", env={**os.environ, **settings}, capture_output=True, text=True, check=True,
        timeout=PATIENCE,
    )  # fmt: skip
    upstream, volumes = json.loads(made.stdout)

    assert volumes == Counter(landed["symbol"].to_pylist())
    assert upstream == ["iceberg/local/booked_trades"]
