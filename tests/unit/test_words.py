"""Code, errors and pages use words that any engineer knows, and say who does what.

Each was found where a sentence hid its subject: "whoever lands" is a landing, "by whomever" any process, and
"what is nought" is a zero.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import frazil
from kit.pages.advice import listed

ROOT = Path(frazil.__file__).parents[2]
FOLDERS = ("platform", "assets", "resources", "sensors", "docs")
WORDS = re.compile(
    r"\b(whoever|whomever|whosoever|nought|such a one|lest|thereof|heretofore)\b", re.IGNORECASE
)

FOR_USERS = re.compile(
    r"\b(mend(s|ed|ing)?|made again|anew|for ever|upon|heed(s|ed)?|deeds?|dearest|bears? (the|no|a))\b",
    re.IGNORECASE,
)
"""What a page, `--help` or an error says in the field's words: fix, recreated, again, forever, on, has."""

EMPTY = {"found", "told", "said", "held", "come", "upon"}
NAMED = re.compile(rf"\b_*({'|'.join(EMPTY)})_*\b")
KEPT = {"alarms/journal.py: told", "landing/position/state.py: held", "upkeep/forgetting/proof.py: found"}
"""Fields that are stored, or that scripts read in documents: another name would be another format."""


def read() -> Iterator[tuple[Path, str]]:
    for folder in FOLDERS:
        for suffix in ("*.py", "*.md"):
            yield from ((file, file.read_text()) for file in sorted((ROOT / folder).rglob(suffix)))
    yield ROOT / "README.md", (ROOT / "README.md").read_text()


def test_no_sentence_uses_a_word_that_only_old_books_have() -> None:
    matches = [
        f"{file.relative_to(ROOT)}:{number}: {match[0]}"
        for file, text in read()
        for number, line in enumerate(text.splitlines(), 1)
        for match in WORDS.finditer(line)
    ]
    assert matches == []


def test_pages_and_advice_use_the_words_of_the_field() -> None:
    """Pages have the help of all commands, settings, fields, checks and errors, which are generated."""
    pages = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    texts = [(page.name, line) for page in pages for line in page.read_text().splitlines()]
    matches = [
        (where, match[0], text) for where, text in [*texts, *listed()] for match in FOR_USERS.finditer(text)
    ]

    assert matches == []


def test_no_name_in_the_code_would_fit_any_value() -> None:
    """What was `found` or `told` is a match, rows, options, a message: its name says which."""
    modules = (file for folder in (*FOLDERS, "tests") for file in sorted((ROOT / folder).rglob("*.py")))
    empty = {f"{file.relative_to(ROOT)}: {name}" for file in modules for name in _empty_names(file)}

    assert empty == {f"platform/frazil/{place}" for place in KEPT}


def _empty_names(file: Path) -> Iterator[str]:
    text = file.read_text()
    for node in ast.walk(ast.parse(text if NAMED.search(text) else "")):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                pass
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                pass
            case _:
                continue
        if name.strip("_") in EMPTY:
            yield name


def test_it_reads_what_people_read() -> None:
    names = {file.name for file, _ in read()}
    assert {"errors.py", "README.md", "runbook.md"} <= names
    assert WORDS.search("Whoever lands.")
    assert FOR_USERS.search("Mend the name.")
