"""Writes what engines read into docs/readers.md: `make readers` does, once the suite has seen it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kit.engines.engine import ENGINES, TRINO, Engine
from kit.engines.known import KNOWN, Known
from kit.engines.tables.features import FEATURES
from kit.engines.tables.made import Feature
from kit.engines.trino import VERSION as TRINO_VERSION

__all__ = ["PAGE", "written"]

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "readers.md"
LOCKS = (ROOT / "requirements.lock", ROOT / "tests" / "stack" / "readers" / "requirements.lock")

_REGION = re.compile(r"(<!-- outcomes -->\n).*?(<!-- end of outcomes -->)", re.DOTALL)
_PACKAGES = {"spark": "pyspark", "clickhouse": "chdb-core"}


def written(text: str) -> str:
    """The page with the outcomes that are known."""
    return _REGION.sub(lambda match: match[1] + "\n".join(_outcomes()) + "\n" + match[2], text)


def _outcomes() -> Iterator[str]:
    yield from (
        "",
        f"| | {' | '.join(f'{e.title} {_version(e)}' for e in ENGINES)} |",
        "|---" * (len(ENGINES) + 1) + "|",
    )
    for feature in FEATURES:
        yield f"| {feature.title} | {' | '.join(_cell(engine, feature) for engine in ENGINES)} |"
    yield from ("", "| engine | table | what comes, and what to do |", "|---|---|---|")
    for engine in ENGINES:
        yield from _notes(engine)
    yield ""


def _notes(engine: Engine) -> Iterator[str]:
    """What is known of an engine; the same of several tables in one row."""
    titles_by_cause: dict[Known, list[str]] = {}
    for feature in FEATURES:
        if known := KNOWN.get((engine.name, feature.name)):
            titles_by_cause.setdefault(known, []).append(feature.title)
    for known, titles in titles_by_cause.items():
        link = f" ([its issue]({known.link}))" if known.link else ""
        way = "**wrong**: " if known.wrong else ""
        yield f"| {engine.title} | {'; '.join(titles)} | {way}{known.note}{link} |"


def _cell(engine: Engine, feature: Feature) -> str:
    known = KNOWN.get((engine.name, feature.name))
    return "yes" if known is None else "**wrong**" if known.wrong else "refuses"


def _version(engine: Engine) -> str:
    if engine.name == TRINO:
        return TRINO_VERSION
    package = _PACKAGES.get(engine.name, engine.name)
    lock = LOCKS[not engine.locked].read_text()
    (version,) = re.findall(rf"^{package}==(\S+)", lock, re.MULTILINE)
    return str(version)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
