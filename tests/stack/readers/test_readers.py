"""The same tables, read by each engine in a process of its own: each value is what the producer sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from frazil.connections import Connections
from kit.engines.compared import wrong
from kit.engines.engine import ENGINES, TRINO, Answer, Asked, Engine, Reading, place
from kit.engines.known import KNOWN
from kit.engines.tables.features import FEATURES
from kit.engines.tables.made import Expected, Feature, Maker
from kit.engines.trino import trino_on

Ask = Callable[[Engine, Expected], Answer]
Make = Callable[[Feature], Expected]


@pytest.fixture(scope="session")
def make(connections: Connections) -> Make:
    """Makes the table of a feature, once."""
    maker = Maker(connections)
    return cache(lambda feature: feature.make(maker))


@pytest.fixture(scope="session")
def ask(connections: Connections, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Asks an engine for a table; its process waits for the next one."""
    with ExitStack() as stack:
        started = cache(lambda engine: stack.enter_context(Reading.of(engine)))
        folder, s3 = tmp_path_factory.mktemp(TRINO), place(connections)
        served = cache(lambda: stack.enter_context(trino_on(connections.settings, folder)))

        def asked(engine: Engine, expected: Expected) -> Answer:
            address = served() if engine.name == TRINO else ""
            wanted = Asked(
                expected.table, expected.metadata, expected.columns, expected.snapshot, s3, address
            )
            answer: Answer = started(engine).read(wanted)
            return answer

        yield asked


CASES = [
    pytest.param(
        feature,
        engine,
        id=f"{feature.name}-{engine.name}",
        marks=[] if feature.daily and engine.locked else [pytest.mark.nightly],
    )
    for feature in FEATURES
    for engine in ENGINES
]


@pytest.mark.parametrize(("feature", "engine"), CASES)
def test_an_engine_reads_what_the_producer_sent(
    make: Make, ask: Ask, feature: Feature, engine: Engine
) -> None:
    if engine.python is None:
        pytest.skip(f"{engine.title} is not there: make readers")
    expected = make(feature)

    answer = ask(engine, expected)

    differs = wrong(answer, expected) if not answer.refused else ""
    known = KNOWN.get((engine.name, feature.name))
    if known is None:
        assert not answer.refused
        assert not differs
        return
    assert known.sign in (differs if known.wrong else answer.refused)
    assert known.wrong is bool(differs)
