"""The `frazil` command: its subcommands, and how errors become text and exit codes."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Annotated

import typer
from stamina.instrumentation import set_on_retry_hooks

from frazil.cli.console import console
from frazil.errors import FrazilError

__all__ = ["make_app", "run"]

_MODULES = (
    "stack", "demo", "generate", "land", "derive", "repair", "tables", "describe", "census", "upkeep",
    "rollback", "schema", "graph",
)  # fmt: skip
"""Modules of `frazil.cli` with a function `register(app)`, in the order of `--help`."""

_DEBUG = "FRAZIL_DEBUG"


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
        import_module(f"frazil.cli.{name}").register(app)
    return app


def run(app: typer.Typer | None = None) -> None:
    """Runs the command; errors that Frazil raises on purpose are text, not traces.

    Args:
        app: What to run; by default `make_app()`.
    """
    set_on_retry_hooks([])  # by default each retry is a line on stdout, where JSON belongs
    try:
        (app or make_app())()
    except FrazilError as e:
        headline, _, rest = str(e).partition("\n")
        _complain(headline, rest)
        raise SystemExit(e.exit_code) from None
    except Exception as e:
        if os.environ.get(_DEBUG):
            raise
        next_step = f"  Next: This is a fault of Frazil; {_DEBUG}=1 shows where it lies."
        _complain(f"{type(e).__name__}: {e}", next_step)
        raise SystemExit(1) from None


def _complain(headline: str, rest: str) -> None:
    console.print(headline, style="bold red", markup=False)
    if rest:
        console.print(rest, markup=False)


def _options(
    debug: Annotated[bool, typer.Option(help="Show where an unexpected error comes from.")] = False,
) -> None:
    if debug:
        os.environ[_DEBUG] = "1"
