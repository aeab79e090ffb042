"""The block of docs/downstream.md for Polars, in an environment that has no Frazil."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from math import log
from pathlib import Path

import pytest

from frazil.connections import Connections
from kit.engines.engine import OTHERS
from kit.engines.tables.made import Landed, Maker
from kit.pages.pages import blocks_of
from kit.runs.waiting import PATIENCE

pytestmark = pytest.mark.nightly

BLOCK = "polars_features.py"
PAGE = Path(__file__).parents[3] / "docs" / "downstream.md"
FIELDS = {"userid": "string", "side": "string", "quantity": "int", "price": "int"}
SHOWN = f"import json, polars; print(json.dumps(polars.read_parquet('{BLOCK[:-3]}.parquet').to_dicts()))"


@pytest.fixture
def python() -> str:
    """Of the environment that has Polars."""
    interpreter = os.environ.get(OTHERS)
    if not interpreter:
        pytest.skip("Polars is not there: make readers")
    return interpreter


def user(name: str, side: str, quantity: int, price: int) -> tuple[str, dict[str, object]]:
    return name, {"userid": name, "side": side, "quantity": quantity, "price": price}


@pytest.fixture
def users(connections: Connections) -> Landed:
    """A table of the newest trade of each user, two of whom traded twice."""
    made = Maker(connections).empty(FIELDS, mode="upsert", key_format="string")
    made.changed([user(f"u{n}", "SELL", n, 100) for n in range(4)])
    return made.changed([user("u1", "BUY", 2_000_000, 2_000), user("u3", "BUY", 9, 600)])


def test_polars_makes_features_of_the_newest_row_of_each_key(
    users: Landed, python: str, tmp_path: Path
) -> None:
    [block] = [each for each in blocks_of(PAGE) if each.title == BLOCK]
    (tmp_path / BLOCK).write_text(block.text)

    run(f"'{python}' {BLOCK} {users.table.metadata_location}", tmp_path)
    features = json.loads(run(f"'{python}' -c \"{SHOWN}\"", tmp_path))

    newest = {"u0": (0, 0, 100), "u1": (1, 2_000_000, 2_000), "u2": (0, 2, 100), "u3": (1, 9, 600)}
    assert [row["userid"] for row in features] == [*newest]
    for row, (buys, quantity, price) in zip(features, newest.values(), strict=True):
        assert row["buys"] == buys
        assert row["size"] == pytest.approx(log(1 + quantity * price))
        assert row["relative_price"] == pytest.approx(price / 700)


def run(command: str, folder: Path) -> str:
    """What a shell says that has the stack's variables, and no module of ours."""
    commands = Path(sys.executable).parent
    text = f"set -eo pipefail; eval \"$('{commands}/frazil' env)\"; unset PYTHONPATH; {command}"
    done = subprocess.run(
        ["bash", "-c", text], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
