"""`make pictures`: what a new user sees of Dagster, each page in a browser, for the docs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
import requests
from dagster._core.scheduler.instigation import TickStatus

from frazil.connections import Connections
from frazil_local.generators import GENERATORS
from frazil_local.generators.generator import generate
from frazil_local.home import Home
from frazil_local.parts import make_dagster_home
from kit.formats.formats import avro, produce
from kit.pages.browser import Browser, browser
from kit.pages.pages import blocks_of
from kit.runs.waiting import PATIENCE, wait_for
from kit.stack.dagster_servers import ROOT, free_port, serving

IMAGES = ROOT / "docs" / "images"
MOST = 300_000  # bytes of a picture
TRADES = 20_000

TILL = """\
type: assets.topic_tables.TopicTables
attributes:
  tables:
    - topic: payments
      description: What customers paid.
      partitions: 1
      value_schema: payment.avsc
"""
PAYMENT = '{"type": "record", "name": "payment", "fields": [{"name": "amount", "type": "long"}]}'

PAGES = {
    "late-and-broken": ("/assets/late_and_broken", 1300, 1250, "payments"),
    "groups": ("/asset-groups", 1300, 950, "trading", "assets"),
    "table": ("/assets/iceberg/local/stock_trade_totals", 1250, 1800, "Latest materialization"),
    "checks": (
        "/assets/iceberg/local/stock_trades?view=checks&checkDetail=row_count",
        1300,
        760,
        "row_count",
    ),
    "sensors": ("/locations/frazil/sensors/arrivals", 1300, 760, "arrivals"),
    "suspended": ("/assets/iceberg/local/payments", 1300, 1800, "suspended"),
    "failed-run": ("/runs/{failed}", 1300, 960, "Failure"),
}
"""By the name of a picture: the page, the size of the window, and what the page shows once it is complete."""

GRAPH = "/locations/frazil/asset-groups/shop", 1200, 1500, "Materialized", "Latest event"


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser(scale=0.85) as opened:
        yield opened


@pytest.fixture(scope="module")
def home(
    stack_home: Home, connections: Connections, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Dagster's home after landings of trades, and one of payments that a bad record stopped."""
    folder = tmp_path_factory.mktemp("pipelines")
    write_till(folder / "my_pipelines" / "till")
    write_readme(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAZIL_PIPELINES", f"{ROOT / 'assets' / 'pipelines'}:{folder / 'my_pipelines'}")
        make_dagster_home(stack_home)
        patch.setenv("DAGSTER_HOME", str(stack_home.dagster))
        for topic in ("stock_trades", "trades"):
            generate(GENERATORS["stock_trades"], connections.settings, topic=topic, count=TRADES)
        assert materialized(
            "group:shop", *keys("kafka/stock_trades", "iceberg/local/stock_trades", "kafka/payments")
        )
        assert materialized(*keys("iceberg/local/stock_trade_totals", "iceberg/local/payments"))
        produce(connections, "payments", [*payments(connections), (None, b"no Avro")])
        assert not materialized(*keys("iceberg/local/payments"))
        yield stack_home.dagster


def write_till(folder: Path) -> None:
    """The pipeline whose landing is going to fail."""
    folder.mkdir(parents=True)
    (folder / "defs.yaml").write_text(TILL)
    (folder / "payment.avsc").write_text(PAYMENT)


def write_readme(folder: Path) -> None:
    """The pipeline that the README shows."""
    for block in blocks_of(ROOT / "README.md"):
        if block.title:
            file = folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)


def payments(connections: Connections) -> list[tuple[None, bytes]]:
    """Records that are as they should be."""
    latest = connections.registry.get_latest_version("payments-value")
    return [(None, avro(json.loads(PAYMENT), latest.schema_id, {"amount": n})) for n in range(200)]


def keys(*keys: str) -> list[str]:
    """Assets by their keys, as Dagster's selections name them."""
    return [f'key:"{key}"' for key in keys]


def materialized(*chosen: str) -> bool:
    """Whether a run of these assets, as a shell starts it, succeeds."""
    dagster = [sys.executable, "-m", "dagster", "asset", "materialize", "-m", "frazil.definitions"]
    command = [*dagster, "--select", " or ".join(chosen)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def pages(home: Path) -> Iterator[str]:
    """The address of Dagster, each of whose sensors has had a look."""
    port = free_port()
    with serving(["dagster", "dev"], home, port), dg.DagsterInstance.from_config(str(home)) as instance:
        wait_for(lambda: looked(instance))
        yield f"http://127.0.0.1:{port}"


def looked(instance: dg.DagsterInstance) -> bool:
    """Whether the arrivals sensor has found nothing to do twice."""
    done = [
        tick
        for state in instance.all_instigator_state()
        if state.name == "arrivals"
        for tick in instance.get_ticks(state.instigator_origin_id, state.selector_id)
        if tick.status is TickStatus.SKIPPED
    ]
    return len(done) >= 2


@pytest.fixture(scope="module")
def failed(home: Path) -> str:
    """The id of the run that failed."""
    with dg.DagsterInstance.from_config(str(home)) as instance:
        runs = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE]), limit=1)
    return runs[0].run_id


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_drawn_for_the_docs(name: str, window: Browser, pages: str, failed: str) -> None:
    path, width, height, *texts = PAGES[name]
    picture = IMAGES / f"{name}.png"

    window.open(pages + path.format(failed=failed), *texts, width=width, height=height)
    picture.write_bytes(window.picture())

    assert 20_000 < picture.stat().st_size < MOST


def test_the_graph_of_the_readme_is_drawn_from_top_to_bottom(window: Browser, pages: str) -> None:
    path, width, height, *texts = GRAPH
    picture = IMAGES / "graph.png"
    window.open(pages, width=width, height=height)
    window.run("localStorage.setItem('asset-graph-direction', '\"vertical\"')")

    window.open(pages + path, *texts, width=width, height=height)
    picture.write_bytes(window.picture_of("foreignObject"))

    assert 20_000 < picture.stat().st_size < MOST


def test_nobody_is_asked_for_an_address(pages: str) -> None:
    answer = requests.post(f"{pages}/graphql", json={"query": "{ shouldShowNux }"}, timeout=PATIENCE).json()

    assert answer["data"] == {"shouldShowNux": False}
