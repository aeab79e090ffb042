"""`frazil dashboard`: starts the pages in place of this process."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from frazil.cli.console import console
from frazil.cli.selection import select
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
) -> None:
    """Show the tables in a browser: how they stand, and the pages of pipelines. Reads only.

    A pipeline's page is the file dashboard.yaml beside its defs.yaml. It stops with Ctrl-C.
    """
    DASHBOARD.require()
    load_pages(select((), every=True).connections.settings)  # a mistake is told here, not in the browser
    script = find_spec("frazil_dashboard.app")
    if script is None or script.origin is None:
        raise RuntimeError("frazil_dashboard has no module app")
    options = [f"--{name}={value}" for name, value in {**_OPTIONS, "server.port": str(port)}.items()]
    console.print(f"http://127.0.0.1:{port} shows the tables. Ctrl-C stops it.")
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", *options, script.origin])
