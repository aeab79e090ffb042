"""The server of the pages, in the process that was started for it: no page waits for what that imported."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec

from frazil.process import look_as_python_does

_OF_PAGES = ("answers", "costs", "drawing", "health", "layers")
"""What pages are made by, but for the module that Streamlit has to be running for."""

_LATE = ("boto3", "pandas", "pyarrow.dataset", "pyiceberg.catalog.rest")
"""What Streamlit, PyIceberg and the engine import with the first grid, file and request: a second of CPU."""

_OPTIONS = {
    "server.address": "127.0.0.1",
    "server.headless": "true",
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": "false",
    "client.toolbarMode": "viewer",
    "client.showErrorDetails": "none",
}
"""Streamlit's: it listens on this machine only, tells nobody of its use, and shows no stack trace."""


def get_ready() -> None:
    """Imports all that a page needs, so that the first one need not."""
    for name in _OF_PAGES:
        import_module(f"frazil_dashboard.{name}")
    for name in _LATE:
        import_module(name)


def serve(port: int) -> None:
    """Serves the pages on this machine until a signal stops it; what Streamlit says goes to stderr."""
    from streamlit.web.cli import main

    script = find_spec("frazil_dashboard.app")
    if script is None or script.origin is None:
        raise RuntimeError("frazil_dashboard has no module app")
    options = [f"--{name}={value}" for name, value in {**_OPTIONS, "server.port": str(port)}.items()]
    look_as_python_does()
    os.dup2(2, 1)  # what Streamlit says is no document
    main(["run", *options, script.origin], prog_name="streamlit", standalone_mode=False)
