"""The commands of `frazil`, and which module has each; a module is imported when its command is named.

`frazil --help` takes 0.2 seconds of CPU this way. With all modules imported it took 1.5: docs/bench.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from frazil.errors import InterruptedWorkError, interruptible

_STACK = "Embedded stack"
_CLOUDS = "Clouds"

COMMANDS: dict[str, dict[str, str]] = {
    "stack": {
        "up": "Start all parts of the embedded stack that are not running, and wait for them.",
        "down": "Stop the embedded stack. Its data stays.",
        "status": "Show whether each part of the embedded stack is up. Exit code 5 if one is not.",
        "logs": "Print the last lines of a part's log.",
        "env": "Print the endpoints and credentials of the stack or of a deployment, as exports or JSON.",
    },
    "demo": {
        "demo": "Start the stack, let trades flow to Snowflake through Dagster, and prove that none was lost."
    },
    "repository": {
        "init": "Make a repository of your own: a pipeline, its settings and a check for CI.",
        "validate": "Read all pipelines and report every mistake with its line. Contacts no server.",
    },
    "discover": {
        "discover": "Look at a few records of topics that no pipeline names, and propose YAML for them."
    },
    "generate": {
        "generate": "Produce made-up records. Makes topics and subjects that are missing.",
    },
    "land": {
        "land": "Land topics in their tables, and update the places that show them.",
        "sync": "Update every place that shows the tables, such as Glue and Snowflake.",
        "derive": "Update tables that are made of other tables, and the places that show them.",
    },
    "backfill": {
        "backfill": "Land a long topic in bounded landings, with progress, up to where it ends now."
    },
    "run": {"run": "Land topics without a pause, and update all that follows, until it is stopped."},
    "pause": {
        "pause": "Stop all landings into tables until they are resumed. Upkeep goes on.",
        "resume": "Lift tables' suspensions or pauses, and land what waits.",
    },
    "cut": {
        "cut": "Tag the tables of a pipeline as of one moment: create, list, describe or drop such cuts.",
    },
    "repair": {
        "redrive": "Land the dead letters of a table that can be decoded now, each one once.",
        "replay": "Read offsets that a table holds from Kafka once more, and replace what is there of them.",
        "accept": "Accept that another engine deleted rows, so that the checks no longer miss them.",
        "rollback": "Roll a table back to an earlier snapshot and its position in the topic.",
    },
    "reset": {
        "reset": "Start a table over: remove it, and all that is made of it or shows it. Its topic stays.",
        "drop": "Remove a table that no pipeline names any more, with its dead letters and what shows it.",
    },
    "tableflow": {
        "adopt": "Take a topic over from Tableflow: Frazil goes on in Tableflow's table, after its last row.",
        "release": "Stop landing a topic so that Tableflow can land it, and tell where Frazil's rows end.",
    },
    "tables": {
        "tables": "List the tables of all pipelines: rows, files, what waits, freshness.",
        "lag": "Show how many records wait in each partition, for all tables or for those named.",
    },
    "check": {
        "check": "Run the checks of tables. Exit code 1 if one fails, 5 if a server does not answer.",
    },
    "describe": {
        "describe": "Show one table: its state, columns, and last landings or derivations.",
    },
    "query": {
        "sample": "Show some rows of a table.",
        "query": "Run a SELECT over tables in DuckDB, which can read their rows and nothing else.",
    },
    "changes": {
        "changes": "Print what became of each row between two snapshots, a line of JSON each.",
    },
    "metrics": {"metrics": "Print the state of all tables as metrics for Prometheus, or serve them."},
    "upkeep": {
        "census": "Count the files, snapshots and manifests of tables, or all details of one table.",
        "compact": "Rewrite small data files into files of the target size, sorted if the spec says so.",
        "expire": "Expire old snapshots and the files that only they need, or, with --rows, old rows.",
        "orphans": "Delete files in the tables' folders that no snapshot names.",
    },
    "forget": {
        "forget": "Forget rows: in a table, its dead letters and what is made of it, and then in every file.",
    },
    "graph": {"graph": "Draw the asset graph of all pipelines. Contacts no server."},
    "schema": {"schema": "Compare schemas with tables."},
    "doctor": {
        "doctor": "Test each right that the pipelines need in each system. Exit code 5 if one is missing.",
    },
    "deploy": {
        "deploy": "Plan, create, verify or delete a deployment in Confluent Cloud, AWS and Snowflake.",
    },
    "rotate": {
        "rotate": "Replace old API keys and Snowflake's old RSA keys. Those in use go on working.",
    },
}
"""Module of `frazil.cli` -> its commands with the first paragraph of their help, in the order of `--help`."""

PANELS = {**dict.fromkeys(COMMANDS["stack"], _STACK), "deploy": _CLOUDS, "rotate": _CLOUDS}
"""The commands that `--help` shows in a box of their own."""


class Commands(TyperGroup):
    """All commands by name and first sentence; the one that is run is imported then."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for module, named in COMMANDS.items():
            for name, text in named.items():
                self.add_command(Named(name, text, module))

    def invoke(self, ctx: Any) -> Any:
        """Runs the command; Ctrl-C ends it in words."""
        try:
            with interruptible():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            raise InterruptedWorkError(
                "Stopped by Ctrl-C.",
                meaning="What was done before stays; no table shows anything half done.",
                todo="The same command goes on.",
            ) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that is run, or completed in a shell: the real one."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, Named) else command, rest


class Named(TyperCommand):
    """What `--help` says of a command."""

    def __init__(self, name: str, text: str, module: str) -> None:
        super().__init__(name, help=text, rich_help_panel=PANELS.get(name))
        self.module = module

    def load(self) -> Any:
        """The command itself, from its module."""
        app = typer.Typer()
        app.add_typer(import_module(f"frazil.cli.{self.module}").app)
        return get_group(app).commands[str(self.name)]
