"""The list of pages names each one with its reader and its question, in the order of the site's menu."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
ROWS = re.findall(
    r"^\| (?:\[.*?\]\((.+?)\)|All pages) \| (.+?) \| (.+?) \|$", (DOCS / "pages.md").read_text(), re.MULTILINE
)
LISTED = [page or "pages.md" for page, _, _ in ROWS]


class _Menu(yaml.SafeLoader):
    """Leaves alone what names a function of Python's."""


_Menu.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def in_the_menu(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from in_the_menu(each)


def test_each_page_is_listed_once() -> None:
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"index.md"}

    assert set(LISTED) == pages
    assert len(LISTED) == len(pages)


def test_they_stand_in_the_order_of_the_menu() -> None:
    menu = yaml.load((ROOT / "mkdocs.yml").read_text(), _Menu)["nav"]

    assert [page for page in in_the_menu(menu) if page != "index.md"] == LISTED


@pytest.mark.parametrize(("page", "reader", "question"), ROWS, ids=LISTED)
def test_each_has_a_reader_and_one_question(page: str, reader: str, question: str) -> None:
    assert reader == "everyone" or reader.startswith("who ")
    assert question.count("?") == 1
