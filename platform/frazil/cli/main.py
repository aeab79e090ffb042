"""The `frazil` command: its subcommands, and how errors become text and exit codes."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from frazil.cli.commands import Commands
from frazil.errors import DEBUG, FrazilError, explain


def make_app() -> typer.Typer:
    """The command with all its subcommands."""
    app = typer.Typer(
        cls=Commands,
        help="Freezes Kafka topics into Apache Iceberg tables.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    return app


def run(app: typer.Typer | None = None) -> None:
    """Runs the command; errors that Frazil raises on purpose are text, not traces."""
    try:
        (app or make_app())()
    except Exception as e:
        if os.environ.get(DEBUG) and not isinstance(e, FrazilError):
            raise
        from frazil.cli.console import complain

        error = explain(e)
        complain(error)
        raise SystemExit(error.exit_code) from None


def _options(
    debug: Annotated[bool, typer.Option(help="Show where an unexpected error comes from.")] = False,
) -> None:
    if debug:
        os.environ[DEBUG] = "1"
    from frazil.cli.console import prepare  # not for `--help`: settings and logs take as long as the rest

    prepare()
