"""What an engine read beside what the producer sent."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from kit.engines.engine import Answer
from kit.engines.tables.made import Expected, canonical

__all__ = ["wrong"]

_MOST = 3


def wrong(answer: Answer, expected: Expected) -> str:
    """What is wrong with an engine's rows; nothing where they are the producer's."""
    return "; ".join(_differences(answer, expected))


def _differences(answer: Answer, expected: Expected) -> Iterator[str]:
    key = expected.columns[0]
    if [*answer.columns] != [*expected.columns]:
        yield f"columns {[*answer.columns]}"
        return
    got, sent = _sorted(answer.records(), key), _sorted([canonical(dict(row)) for row in expected.rows], key)
    ids = [row[key] for row in got], [row[key] for row in sent]
    if ids[0] != ids[1]:
        yield f"{len(got)} rows of {len(sent)}"
        return
    pairs = ((name, x[name], y[name]) for x, y in zip(got, sent, strict=True) for name in expected.columns)
    odd = [f"`{name}`: {_short(a)} for {_short(b)}" for name, a, b in pairs if not same(a, b)]
    yield from odd[:_MOST]
    if len(odd) > _MOST:
        yield f"{len(odd) - _MOST} more"


def _sorted(rows: Sequence[Mapping[str, Any]], key: str) -> list[Mapping[str, Any]]:
    return sorted(rows, key=lambda row: (row[key] is None, row[key] or 0))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."


def same(got: Any, sent: Any) -> bool:
    """Whether a value is the one that was sent.

    A map may come as a list of keys and values, and a text as its bytes: some engines have one type for both.
    """
    match got, sent:
        case _, {"$map": pairs}:
            return _same_map(got, pairs)
        case {"$decimal": a}, {"$decimal": b}:
            return Decimal(a) == Decimal(b)
        case dict(), dict():
            return got.keys() == sent.keys() and all(same(got[k], sent[k]) for k in sent)
        case list(), list():
            return len(got) == len(sent) and all(map(same, got, sent))
        case {"$bytes": text}, str():
            return bytes.fromhex(text) == sent.encode()
        case float(), float():
            return struct.pack("d", got) == struct.pack("d", sent) or (got != got and sent != sent)
        case _:
            return type(got) is type(sent) and bool(got == sent)


def _same_map(got: Any, sent: Sequence[Any]) -> bool:
    match got:
        case {"$map": list(pairs)}:
            pass
        case list() if all(isinstance(each, dict) and len(each) == 2 for each in got):
            pairs = [[*each.values()] for each in got]
        case _:
            return False
    return len(pairs) == len(sent) and all(any(same(k, a) and same(v, b) for k, v in pairs) for a, b in sent)
