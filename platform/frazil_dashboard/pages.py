"""The pages of all pipelines, each from the file beside the pipeline's defs.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from frazil.cli.views.sandbox import Sandbox, sandbox
from frazil.errors import UsageError
from frazil.pipelines.attributes import model_of, refused
from frazil.pipelines.folder import load_pipelines
from frazil.pipelines.places import Mistake, Place, read_document
from frazil.settings.profile import Settings
from frazil_dashboard.page import Page

FILE = "dashboard.yaml"


def load_pages(settings: Settings) -> dict[str, Page]:
    """The pages, by the names of their pipelines.

    Raises:
        SpecError: A file has a mistake; the error names its line.
    """
    with sandbox() as duck:
        files = ((p.name, p.folder / FILE) for p in load_pipelines(settings=settings).sound)
        return {name: read_page(file, duck) for name, file in files if file.is_file()}


def read_page(file: Path, duck: Sandbox) -> Page:
    """The page of one file; `duck` parses its SQL. Raises as `load_pages` does."""
    document = read_document(file)
    page = model_of(document, Page)
    if mistakes := list(_mistakes(page, duck)):
        raise refused(document, mistakes)
    return page


def _mistakes(page: Page, duck: Sandbox) -> Iterator[Mistake]:
    known = [choice.name for choice in page.choices]
    for n, choice in enumerate(page.choices):
        if known.index(choice.name) < n:
            yield ("choices", n, "name"), f"there is another choice {choice.name}"
        if choice.sql:
            yield from _of_sql(("choices", n, "sql"), choice.sql, [], duck)
    for n, chart in enumerate(page.charts):
        yield from _of_sql(("charts", n, "sql"), chart.sql, known, duck)


def _of_sql(place: Place, sql: str, known: list[str], duck: Sandbox) -> Iterator[Mistake]:
    try:
        duck.tables_of(sql)
        asked = duck.parameters_of(sql)
    except UsageError as e:
        yield place, e.what
        return
    for name in asked:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean ${near[0]}?" if near else f"known are {', '.join(known) or 'none'}"
            yield place, f"${name} is no choice of this page; {hint}"
