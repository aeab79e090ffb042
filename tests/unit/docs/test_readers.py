"""docs/readers.md says of engines what the suite of readers holds them to."""

from __future__ import annotations

from kit.engines.engine import ENGINES
from kit.engines.known import KNOWN
from kit.engines.page import PAGE, written
from kit.engines.tables.features import FEATURES


def test_the_page_has_what_is_known() -> None:
    text = PAGE.read_text()

    assert written(text) == text, "run: PYTHONPATH=tests python tests/kit/engines/page.py"


def test_what_is_known_is_of_an_engine_and_of_a_table_that_are_there() -> None:
    there = {(engine.name, feature.name) for engine in ENGINES for feature in FEATURES}

    assert {*KNOWN} <= there
    assert len({feature.name for feature in FEATURES}) == len(FEATURES)
