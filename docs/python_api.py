"""The functions on docs/python.md: what is public, as its code says it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from frazil.checks.run import run_checks
from frazil.clients import Clients
from frazil.derive.derive import derive
from frazil.derive.tables import load_tables
from frazil.landing.land import land
from frazil.publishing.targets import targets_of
from frazil.settings.profile import Settings

PUBLIC: tuple[Callable[..., Any], ...] = (
    Settings.load, load_tables, Clients, land, derive, targets_of, run_checks,
)  # fmt: skip
"""What a program may import, and what a major version may change alone."""

_PART = re.compile(r"^(Args|Returns|Raises):\n", re.MULTILINE)
_ENTRY = re.compile(r"^    (\w+): (.*(?:\n     .*)*)", re.MULTILINE)


def python_api() -> Iterator[str]:
    """Each function with its signature, its text, its arguments and its errors."""
    for each in PUBLIC:
        name = each.__qualname__.partition(".")[0]
        yield from ("", f"### {each.__qualname__}", "")
        yield from ("```python", f"from {each.__module__} import {name}", "", _signature(each), "```", "")
        yield from _docstring(inspect.getdoc(each) or "")
    yield ""


def _signature(each: Callable[..., Any]) -> str:
    signature = inspect.signature(each)
    given = signature.return_annotation
    returns = "" if inspect.isclass(each) or given is signature.empty else f" -> {given}"
    shown: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        default = "" if parameter.default is parameter.empty else " = ..."
        shown.append(f"{parameter.replace(default=parameter.empty)}{default}")
    line = f"{each.__qualname__}({', '.join(shown)}){returns}"
    parts = "".join(f"    {part},\n" for part in shown)
    return line if len(line) <= 100 else f"{each.__qualname__}(\n{parts}){returns}"


def _docstring(text: str) -> Iterator[str]:
    summary, *parts = _PART.split(text)
    yield summary.strip()
    for kind, body in zip(parts[::2], parts[1::2], strict=True):
        yield from ("", f"{'Arguments' if kind == 'Args' else kind}:", "")
        entries = _ENTRY.findall(body)
        yield from (f"- `{name}`: {' '.join(what.split())}" for name, what in entries)
        if not entries:
            yield " ".join(body.split())
