"""The commands of `frazil`, and which module has each; a module is imported when its command is named.

`frazil --help` takes 0.2 seconds of CPU this way. With all modules imported it took 1.5: docs/bench.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from frazil.cli.catalogue import GROUP, Catalogue
from frazil.errors import InterruptedWorkError
from frazil.interruption import interruptible

_OF_THE_ENGINE: Mapping[str, Mapping[str, str]] = {
    "authoring.repository": {
        "init": "Make a repository of your own: a pipeline, its settings and a check for CI.",
        "validate": "Read all pipelines and report every mistake with its line. Contacts no server.",
    },
    "authoring.discover": {
        "discover": "Look at records of topics that no pipeline names, and propose or write pipelines."
    },
    "work.land": {
        "land": "Land topics in their tables, and update the places that show them.",
        "sync": "Update every place that shows the tables, such as Glue and Snowflake.",
        "derive": "Update tables that are made of other tables, and the places that show them.",
    },
    "work.drift": {
        "drift": "Compare what Glue, Snowflake and other targets show with the tables. Exit code 1 if one "
        "differs.",
    },
    "work.backfill": {
        "backfill": "Land a long topic in bounded landings, with progress, up to where it ends now."
    },
    "work.run": {"run": "Land topics without a pause, and update all that follows, until it is stopped."},
    "work.pause": {
        "pause": "Stop all landings into tables until they are resumed. Upkeep goes on.",
        "resume": "Lift tables' suspensions or pauses, and land what waits.",
    },
    "work.cut": {
        "cut": "Tag the tables of a pipeline as of one moment: create, list, describe or drop such cuts.",
    },
    "work.repair": {
        "redrive": "Land the dead letters of a table that can be decoded now, each one once.",
        "replay": "Read offsets that a table holds from Kafka once more, and replace what is there of them.",
        "accept": "Accept that another engine deleted rows, so that the checks no longer miss them.",
        "rollback": "Roll a table back to an earlier snapshot and its position in the topic.",
    },
    "work.reset": {
        "reset": "Start a table over: remove it, and all that is made of it or shows it. Its topic stays.",
        "drop": "Remove a table that no pipeline names any more, with its dead letters and what shows it.",
    },
    "recovery.rebuild": {
        "rebuild-catalog": "Bring tables back into a catalog that lost them, from what lies in the bucket.",
    },
    "recovery.undelete": {
        "undelete": "Bring files back that were deleted by mistake, from the versions that a bucket keeps.",
    },
    "work.upgrade": {
        "upgrade-table": "Upgrade a table to Iceberg's format version 3, with an id for each row.",
    },
    "work.tableflow": {
        "adopt": "Take a topic over from Tableflow: Frazil goes on in Tableflow's table, after its last row.",
        "release": "Stop landing a topic so that Tableflow can land it, and tell where Frazil's rows end.",
    },
    "views.tables": {
        "tables": "List all tables of the pipelines, or those named: rows, files, what waits, freshness.",
        "lag": "Show how many records wait in each partition, for all tables or for those named.",
    },
    "views.freshness": {
        "freshness": "Show how far each layer of tables is behind, and how long commits took to reach it.",
    },
    "costs.cost": {
        "cost": "Show what tables took, what that costs by a list of prices, and what is not measured.",
    },
    "costs.plan": {
        "plan-freshness": "Show what landing a table more often, or less, would cost, by replaying its own "
        "arrivals.",
    },
    "views.check": {
        "check": "Run the checks of tables. Exit code 1 if one fails, 5 if a server does not answer.",
    },
    "views.verify": {
        "verify": "Compare every record of topics with every row, by a program that shares no code."
    },
    "views.describe": {
        "describe": "Show one table: its state, columns, and last landings or derivations.",
    },
    "views.query": {
        "sample": "Show some rows of a table.",
        "query": "Run a SELECT over tables in DuckDB, which can read their rows and nothing else.",
    },
    "views.changes": {
        "changes": "Print what became of each row between two snapshots, a line of JSON each.",
    },
    "views.metrics": {"metrics": "Print the state of all tables as metrics for Prometheus, or serve them."},
    "work.upkeep": {
        "census": "Count the files, snapshots and manifests of tables, or all details of one table.",
        "compact": "Rewrite small data files into files of the target size, sorted if the spec says so.",
        "expire": "Expire old snapshots and the files that only they need, or, with --rows, old rows.",
        "orphans": "Delete files in the tables' folders that no snapshot names.",
        "statistics": "Count the distinct values of columns, by which Athena, Redshift and Trino plan joins.",
    },
    "work.forget": {
        "forget": "Forget rows: in a table, its dead letters and what is made of it, and then in every file.",
    },
    "views.graph": {"graph": "Draw the asset graph of all pipelines. Contacts no server."},
    "authoring.schema": {"schema": "Compare schemas with tables."},
    "views.doctor": {
        "doctor": "Test each right that the pipelines need in each system. Exit code 5 if one is missing.",
    },
    "env": {
        "env": "Print the endpoints and credentials of the stack or of a deployment, as exports or JSON.",
    },
}


def catalogues() -> Iterator[Catalogue]:
    """The commands of the engine, and of each package that an entry point names."""
    yield Catalogue("frazil.cli", _OF_THE_ENGINE)
    yield from (point.load() for point in entry_points(group=GROUP))


class Commands(TyperGroup):
    """All commands by name and first sentence; the one that is run is imported then."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for catalogue in catalogues():
            for module, named in catalogue.commands.items():
                for name, text in named.items():
                    self.add_command(Named(name, text, module, catalogue))

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

    def __init__(self, name: str, text: str, module: str, catalogue: Catalogue) -> None:
        super().__init__(name, help=text, rich_help_panel=catalogue.panel, hidden=not catalogue.is_installed)
        self.module = module
        self.catalogue = catalogue

    def load(self) -> Any:
        """The command itself, from its module.

        Raises:
            ConfigureError: Its extra is not installed.
        """
        if self.catalogue.extra:
            self.catalogue.extra.require()
        app = typer.Typer()
        app.add_typer(import_module(f"{self.catalogue.package}.{self.module}").app)
        return get_group(app).commands[str(self.name)]
