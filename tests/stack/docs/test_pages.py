"""Pages work as they are written, block by block: README and tutorial in a clone, others in a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from frazil.connections import Connections
from kit.pages.forgotten import forget
from kit.pages.pages import DBT, RUN, Reader
from kit.pages.wheel import make_environment_of

ROOT = Path(__file__).parents[3]


@pytest.fixture
def reader(stack: object, tmp_path: Path) -> Reader:
    """Somebody with a fresh clone, whose environment holds its own code, and with an empty home."""
    clone = tmp_path / "frazil"
    git("clone", "--quiet", "--depth", "1", f"file://{ROOT}", clone)
    for name in git("ls-files", "--modified", "--others", "--exclude-standard").splitlines():
        copy(ROOT / name, clone / name)  # as it would be once it is committed
    make_environment_of(clone)
    path = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if not p.startswith(str(ROOT)))
    return Reader(clone, tmp_path, {"HOME": str(tmp_path), "PATH": path, "COLUMNS": "100"})


@pytest.fixture
def guest(stack: object, tmp_path: Path) -> Reader:
    """Somebody in an empty folder, with this environment's commands."""
    folder = tmp_path / "ours"
    folder.mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return Reader(folder, tmp_path, {"PATH": path, "COLUMNS": "100"})


def git(*command: str | Path) -> str:
    return subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def copy(file: Path, to: Path) -> None:
    to.unlink(missing_ok=True)
    if file.exists():
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, to)


@pytest.fixture
def coffees(connections: Connections) -> Iterator[None]:
    """Nothing of the tutorial's topic and tables, before and after."""
    forget(connections, "coffees", "sales_by_drink")
    yield
    forget(connections, "coffees", "sales_by_drink")


@pytest.fixture
def trades(connections: Connections) -> Iterator[None]:
    """Nothing of the README's topic and tables, before and after."""
    forget(connections, "trades", "large_trades", "trades__dead_letters")
    yield
    forget(connections, "trades", "large_trades", "trades__dead_letters")


@pytest.mark.nightly
def test_the_tutorial_leads_from_a_producer_to_a_table_of_a_table(
    reader: Reader, coffees: None, connections: Connections
) -> None:
    reader.do(ROOT / "docs" / "tutorial.md", left_out=["frazil down"])

    rows = connections.catalog.load_table(("local", "sales_by_drink")).scan().to_arrow().to_pylist()
    assert {row["drink"]: row["cups"] for row in rows} == {"espresso": 76, "filter": 73, "flat white": 76}


def test_the_example_of_the_readme_makes_both_tables(
    reader: Reader, trades: None, connections: Connections
) -> None:
    assert of_the_checkout(reader) == []

    reader.do(ROOT / "README.md", left_out=["make demo", "make test"])

    landed, large = (
        connections.catalog.load_table(("local", name)).scan().to_arrow()
        for name in ("trades", "large_trades")
    )
    assert landed.num_rows == 1000
    assert large.num_rows == sum(quantity > 4000 for quantity in landed["quantity"].to_pylist()) > 0


def of_the_checkout(reader: Reader) -> list[str]:
    """Places from which the clone's environment takes Frazil, and that are not the clone's own."""
    look = "import frazil, assets, sensors; print(*frazil.__path__, *assets.__path__, *sensors.__path__)"
    python = reader.start / ".venv" / "bin" / "python"
    done = subprocess.run(
        [python, "-c", look], cwd=reader.scratch, capture_output=True, text=True, check=True
    )
    return [place for place in done.stdout.split() if not Path(place).is_relative_to(reader.start)]


OF_ONE_TASK = {
    "docs/json.md": ("clicks", "clicks_flat"),
    "docs/python.md": ("words",),
    "docs/own_assets.md": ("visits",),
    "docs/downstream.md": ("desk_trades", "large_desk_trades", "desk_users"),
}
"""By page the topics and tables that it makes."""


def test_every_page_of_which_all_blocks_are_run_is_here() -> None:
    assert {*RUN} == {"README.md", "docs/tutorial.md", *OF_ONE_TASK, DBT}


@pytest.mark.each_time("docs/python.md")
@pytest.mark.parametrize("page", OF_ONE_TASK)
def test_a_page_for_one_task_works_in_an_empty_folder(
    guest: Reader, connections: Connections, page: str
) -> None:
    def forget_all() -> None:
        for name in OF_ONE_TASK[page]:
            forget(connections, name)

    forget_all()
    try:
        guest.do(ROOT / page)
    finally:
        forget_all()
