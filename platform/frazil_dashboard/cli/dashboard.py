"""`frazil dashboard`: starts the pages in place of this process."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from frazil.cli.console import console, print_json
from frazil.cli.selection import Json, select
from frazil_dashboard import DASHBOARD
from frazil_dashboard.pages import load_pages

app = typer.Typer()

_OPTIONS = {
    "server.address": "127.0.0.1",
    "server.headless": "true",
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": "false",
    "client.toolbarMode": "viewer",
    "client.showErrorDetails": "none",
}
"""Streamlit's: it listens on this machine only, tells nobody of its use, and shows no stack trace."""


@app.command("dashboard")
def dashboard_command(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Listen on this port of this machine.")] = 8501,
    as_json: Json = False,
) -> None:
    """Show the tables in a browser: how they stand, and the pages of pipelines. Reads only.

    A pipeline's page is the file dashboard.yaml beside its defs.yaml. It stops with Ctrl-C.
    """
    DASHBOARD.require()
    pages = load_pages(select((), every=True).connections.settings)  # a mistake is told here already
    script = find_spec("frazil_dashboard.app")
    if script is None or script.origin is None:
        raise RuntimeError("frazil_dashboard has no module app")
    options = [f"--{name}={value}" for name, value in {**_OPTIONS, "server.port": str(port)}.items()]
    url = f"http://127.0.0.1:{port}"
    if as_json:
        print_json({"url": url, "pages": {name: page.title for name, page in pages.items()}})
    else:
        console.print(f"{url} shows the tables. Ctrl-C stops it.")
    sys.stdout.flush()
    os.dup2(2, 1)  # what Streamlit says is no document
    os.execv(  # noqa: S606  # this Python, and no shell
        sys.executable, [sys.executable, "-m", "streamlit", "run", *options, script.origin]
    )
