"""`frazil graph`: what stands in the picture is what the definitions say."""

from __future__ import annotations

import re
import struct
from html import unescape
from pathlib import Path
from typing import cast

import dagster as dg
import pytest

from assets.checks.attention import KEY as LATE_AND_BROKEN
from frazil.cli.views.graph import draw, label
from frazil.definitions import graph_of
from frazil.errors import UsageError
from frazil.graph import Asset, AssetGraph
from kit.runs.shell import Command

README_PICTURE = Path(__file__).parents[3] / "docs/images/asset_graph.svg"

TOPIC = Asset(("kafka", "orders"), "kafka", "shop")
TABLE = Asset(("iceberg", "local", "orders"), "iceberg", "shop", (TOPIC.path,))
ENTRY = Asset(("glue", "local", "orders"), "glue", "shop", (TABLE.path,))
COUSIN = Asset(("iceberg", "local", "sums"), "iceberg", "finance", (TABLE.path,))
SHOP = AssetGraph((TOPIC, TABLE, ENTRY, COUSIN))


@pytest.fixture(scope="module")
def everything(graph: dg.Definitions) -> AssetGraph:
    return graph_of(graph)


def titles(svg: str) -> set[str]:
    """Of nodes and edges."""
    names = re.findall(r'class="(?:node|edge)">\s*<title>(.*?)</title>', svg)
    return {unescape(title) for title in names}


def expected(graph: AssetGraph) -> set[str]:
    nodes = {"/".join(asset.path) for asset in graph.assets}
    return nodes | {f"{'/'.join(upstream)}->{'/'.join(asset)}" for upstream, asset in graph.edges}


def test_the_graph_holds_every_asset_of_tables_and_every_dependency_of_the_definitions(
    graph: dg.Definitions, everything: AssetGraph
) -> None:
    specs = [s for s in graph.resolve_all_asset_specs() if s.key != LATE_AND_BROKEN]

    assert {asset.path for asset in everything.assets} == {tuple(s.key.path) for s in specs}
    assert set(everything.edges) == {
        (tuple(dep.asset_key.path), tuple(s.key.path)) for s in specs for dep in s.deps
    }


def test_every_asset_and_every_edge_is_in_the_svg(everything: AssetGraph) -> None:
    assert titles(draw(everything, "svg").decode()) == expected(everything)


def test_the_readmes_picture_shows_the_assets_that_there_are(everything: AssetGraph) -> None:
    todo = f"draw it anew: frazil graph --out {README_PICTURE.name}"

    assert titles(README_PICTURE.read_text()) == expected(everything), todo


def test_the_png_is_one_of_a_size_to_look_at(everything: AssetGraph) -> None:
    png = draw(everything, "png")

    width, height = cast("tuple[int, int]", struct.unpack(">II", png[16:24]))
    assert png.startswith(b"\x89PNG\r\n")
    assert 500 < width < 4000
    assert 200 < height < 8000


def test_a_table_bears_its_name_and_who_shows_it_only_says_so() -> None:
    assert [label(asset) for asset in SHOP.assets] == ["orders", "orders", "Glue", "sums"]


def test_each_kind_has_a_colour_of_its_own() -> None:
    svg = draw(SHOP, "svg").decode()

    fills = dict(re.findall(r'xlink:title="(\w+)/[^"]*">\s*<path fill="(#\w+)"', svg))
    assert set(fills) == {"kafka", "iceberg", "glue"}
    assert len(set(fills.values())) == 3


def test_a_group_stands_alone_without_what_it_is_made_from() -> None:
    assert titles(draw(SHOP.of({"finance"}), "svg").decode()) == {"iceberg/local/sums"}


def test_an_unknown_group_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="Known are finance, shop"):
        SHOP.of({"shops"})


def test_the_command_finds_the_graph_and_writes_both_pictures(
    everything: AssetGraph,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)

    result = Command(monkeypatch, capsys)("graph", "--json")

    assert result.code == 0, result.err
    assert result.document["assets"] == len(everything.assets)
    assert {path.name for path in tmp_path.iterdir()} == {"asset_graph.svg", "asset_graph.png"}
    assert titles((tmp_path / "asset_graph.svg").read_text()) == expected(everything)


def test_another_kind_of_file_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = Command(monkeypatch, capsys)("graph", "--out", "a.gif")

    assert result.code == 2
    assert "--out a.gif is no picture.\n  Next: Let the name end in .svg or .png." in result.err
