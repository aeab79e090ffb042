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
        "up": "Start what does not run of the embedded stack, and wait until all of it answers.",
        "down": "Stop the embedded stack; its data stays.",
        "status": "Ask every part of the embedded stack how it is; exit code 5 if one is not up.",
        "logs": "Print the last lines of a part's log.",
        "env": "Print endpoints and credentials of the stack, or of a deployment, as exports or JSON.",
    },
    "demo": {
        "demo": "Start the stack, let trades flow to Snowflake through Dagster, and prove that none was lost."
    },
    "repository": {
        "init": "Make a repository of your own: a pipeline, its settings, and a check for CI.",
        "validate": "Read all pipelines and tell every mistake with its line; asks no server.",
    },
    "discover": {"discover": "Propose YAML for topics that no pipeline names, by a look at a few records."},
    "generate": {
        "generate": "Produce made-up records; makes topics and subjects where they are missing.",
    },
    "land": {
        "land": "Land topics into their tables, and show these where they are published.",
        "sync": "Bring every place in step in which the tables are shown.",
        "derive": "Bring tables that are made of others up to what their inputs hold now.",
    },
    "repair": {
        "redrive": "Land the dead letters of a table that decode by now, or after a repair; each one once.",
        "resume": "Lift a table's suspension and land what waits.",
        "accept": "Count in the rows that another engine deleted, so that checks no longer miss them.",
        "rollback": "Put a table back to an earlier snapshot, and to the position of that one.",
    },
    "tableflow": {
        "adopt": "Take a topic over from Tableflow: Frazil goes on in Tableflow's table where its rows end.",
        "release": "Stop landing a topic, for Tableflow to land it; says where Frazil's rows end.",
    },
    "tables": {
        "tables": "List the tables of all pipelines: rows, files, what waits, freshness.",
        "lag": "Show what waits in the topics, per partition; of all tables, or of those named.",
    },
    "check": {
        "check": "Run the checks of tables; exit code 1 when one fails, 5 when a server is silent.",
    },
    "describe": {
        "describe": "Show one table: its state, columns, and last landings or derivations.",
    },
    "query": {
        "sample": "Show some rows of a table.",
        "query": "Answer a SELECT over tables by DuckDB, which reads their rows and can do nothing else.",
    },
    "metrics": {"metrics": "Print how all tables stand as Prometheus reads it, or serve it."},
    "upkeep": {
        "census": "Count files, snapshots and manifests of tables, or of all; details where one is named.",
        "compact": "Rewrite small data files of tables to the target size, sorted where the spec says so.",
        "expire": "Expire snapshots that are too old, with the files that only they reach; or rows.",
        "orphans": "Delete files below tables' locations that no snapshot names.",
    },
    "graph": {"graph": "Draw the asset graph of all pipelines; asks no server."},
    "schema": {"schema": "Schemas and the tables that they become."},
    "doctor": {
        "doctor": "Ask each system for each right that the pipelines need; exit code 5 when one is missing.",
    },
    "deploy": {
        "deploy": "Plan, create, verify or delete a deployment in Confluent Cloud, AWS and Snowflake.",
    },
    "rotate": {
        "rotate": "Replace API keys and Snowflake's RSA keys that are old; those in use go on working.",
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
