"""The `frazil` command: its subcommands, and how errors become text and exit codes."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Annotated

import typer
from stamina.instrumentation import set_on_retry_hooks

from frazil.cli.console import DEBUG, complain
from frazil.errors import FrazilError, explain
from frazil.logs import configure_logs
from frazil.settings.profile import log_settings

_MODULES = (
    "stack", "demo", "generate", "land", "repair", "tableflow", "tables", "metrics", "upkeep", "graph",
    "schema", "doctor", "deploy", "rotate",
)  # fmt: skip
"""Modules of `frazil.cli` with commands, in the order of `--help`."""


def make_app() -> typer.Typer:
    """The command with all its subcommands."""
    app = typer.Typer(
        help="Freezes Kafka topics into Apache Iceberg tables.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for name in _MODULES:
        app.add_typer(import_module(f"frazil.cli.{name}").app)
    return app


def run(app: typer.Typer | None = None) -> None:
    """Runs the command; errors that Frazil raises on purpose are text, not traces."""
    set_on_retry_hooks([])  # by default each retry is a line on stdout, where JSON belongs
    try:
        (app or make_app())()
    except Exception as e:
        if os.environ.get(DEBUG) and not isinstance(e, FrazilError):
            raise
        error = explain(e)
        complain(error)
        raise SystemExit(error.exit_code) from None


def _options(
    debug: Annotated[bool, typer.Option(help="Show where an unexpected error comes from.")] = False,
) -> None:
    if debug:
        os.environ[DEBUG] = "1"
    configure_logs(log_settings())
