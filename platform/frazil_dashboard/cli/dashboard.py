"""`frazil dashboard`: starts the server of the pages."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from frazil.cli.console import console, print_json
from frazil.cli.selection import Json, select
from frazil_dashboard import DASHBOARD
from frazil_dashboard.pages import load_pages
from frazil_dashboard.serving import get_ready, serve

app = typer.Typer()


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
    get_ready()
    url = f"http://127.0.0.1:{port}"
    if as_json:
        print_json({"url": url, "pages": {name: page.title for name, page in pages.items()}})
    else:
        console.print(f"{url} shows the tables. Ctrl-C stops it.")
    sys.stdout.flush()
    serve(port)
