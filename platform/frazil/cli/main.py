"""The `frazil` command: its subcommands, and how errors become text and exit codes."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from typer._click.exceptions import NoArgsIsHelpError
from typer._click.exceptions import UsageError as ClickUsageError

from frazil.cli.commands import Commands
from frazil.cli.imports import lean
from frazil.errors import DEBUG, FrazilError, StopError, UsageError, explain
from frazil.process import look_rarely

NAME = "frazil"
"""What the command is called, and the shell's completion with it, whatever process runs it."""


def make_app() -> typer.Typer:
    """The command with all its subcommands."""
    app = typer.Typer(
        cls=Commands,
        help="Freezes Kafka topics into Apache Iceberg tables.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    return app


def run(app: typer.Typer | None = None) -> None:
    """Runs the command; errors that Frazil raises on purpose are text, not traces."""
    look_rarely()
    try:
        with lean():
            code = (app or make_app())(prog_name=NAME, standalone_mode=False)
    except NoArgsIsHelpError as e:
        code = e.exit_code
        typer.echo(e.ctx.get_help() if e.ctx else "", err=True)
    except Exception as e:
        if os.environ.get(DEBUG) and not isinstance(e, FrazilError | ClickUsageError | typer.Abort):
            raise
        code = _fail(e)
    raise SystemExit(code)


def _fail(error: Exception) -> int:
    """Tells what ended the command, as text and to scripts; returns the exit code."""
    from frazil.cli.console import complain, print_json  # they take as long as the rest of `--help`

    known = _known(error)
    code: int = error.exit_code if isinstance(error, ClickUsageError) else known.exit_code
    complain(known)
    if "--json" in sys.argv:
        print_json({"error": {"type": type(known).__name__, **known.document}, "exit_code": code})
    return code


def _known(error: Exception) -> FrazilError:
    if isinstance(error, ClickUsageError):
        command = error.ctx.command_path if error.ctx else NAME
        return UsageError(error.format_message(), todo=f"`{command} --help` tells what it takes.")
    if isinstance(error, typer.Abort):
        return StopError("The answer was no.", meaning="Nothing was changed.")
    return explain(error)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # with its parser of e-mail, for no other command

        typer.echo(version("frazil"))
        raise typer.Exit


def _options(
    debug: Annotated[bool, typer.Option(help="Show where an unexpected error comes from.")] = False,
    told_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if debug:
        os.environ[DEBUG] = "1"
    from frazil.cli.console import prepare  # not for `--help`: settings and logs take as long as the rest

    prepare()
