"""The script that Streamlit runs: the page that the address names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import streamlit as st

from frazil.settings.profile import Settings
from frazil_dashboard.page import Page
from frazil_dashboard.pages import load_pages
from frazil_dashboard.show import FRESH, show_costs, show_health, show_layers, show_page, shown_errors


@st.cache_resource(ttl=FRESH, show_spinner="reading the pipelines")
def _known_pages() -> dict[str, Page]:
    return load_pages(Settings.load())


def _pages(pages: dict[str, Page]) -> Iterator[Any]:
    yield st.Page(show_health, title="Tables", default=True)
    yield st.Page(show_layers, title="Layers", url_path="frazil-layers")
    yield st.Page(show_costs, title="Cost", url_path="frazil-cost")
    for name, page in pages.items():
        show: Callable[[], None] = partial(show_page, page)
        yield st.Page(show, title=page.title, url_path=name)


def main() -> None:
    """Shows the page that the address names."""
    st.set_page_config(page_title="Frazil", layout="wide")
    with shown_errors():
        st.navigation(list(_pages(_known_pages()))).run()


main()
