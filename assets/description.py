"""How the assets of a table are described: what all kinds of asset have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import dagster as dg

from assets.checks.attention import KEY as ATTENTION
from frazil.checks.result import Check
from frazil.checks.run import checks_of
from frazil.derive.queries.check import Fields
from frazil.formats.record import file_fields
from frazil.formats.types import to_iceberg
from frazil.publishing.target import Target
from frazil.publishing.targets import targets_of
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath, Things, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from resources.metadata import column_schema

MODE = "frazil/mode"
"""Tag of the assets that follow from a topic, which itself may become tables of several modes."""

LANDED = "frazil/made-of"
"""Tag of the assets of tables that Frazil lands, whatever their mode; its value is `topic`."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a table was written, and whose its assets are if it does not say so itself."""

    file: Path
    line: int
    group: str
    owners: tuple[str, ...]


@dataclass(frozen=True)
class PipelineTable:
    """One table of a pipeline, under one profile; without an origin, for sensors and jobs, it is no asset."""

    spec: AnyTable
    settings: Settings
    origin: Origin | None = None

    @cached_property
    def things(self) -> Things:
        """What its things are called."""
        return things(self.spec, self.settings)

    @cached_property
    def targets(self) -> Sequence[Target]:
        """Where it is shown."""
        return targets_of(self.spec, self.settings)

    @cached_property
    def checks(self) -> Sequence[Check]:
        """The checks of all its assets."""
        return tuple(checks_of(self.spec, self.settings).values())

    @property
    def tags(self) -> Mapping[str, str]:
        """Tags of its assets, beside the user's: how it is made."""
        return {}

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What each of its assets says before the first run: what it is made of."""
        return {}

    @property
    def columns(self) -> dg.TableSchema | None:
        """The columns that are known before the first run."""
        return None

    @property
    def keeps_dead_letters(self) -> bool:
        """Whether it has a dead-letter table."""
        return False

    @property
    def file(self) -> Path | None:
        """A file beside its lines that says how its rows are made."""
        return None

    @property
    def shown(self) -> list[dg.AssetKey]:
        """The assets of the table itself, and of all that follows from it."""
        letters = [self.things.dead_letters_path] if self.keeps_dead_letters else []
        paths = [self.things.iceberg_path, *letters, *(target.path for target in self.targets)]
        return [dg.AssetKey(path) for path in paths]


@dataclass(frozen=True)
class TopicTable(PipelineTable):
    """A table that is made of a topic; `fields` has the columns that schema files gave already."""

    spec: TableSpec
    fields: Fields = field(default_factory=dict)

    @property
    def tags(self) -> Mapping[str, str]:
        """See `PipelineTable`."""
        return {MODE: self.spec.mode} | ({} if self.spec.is_read_only else {LANDED: "topic"})

    @property
    def metadata(self) -> Mapping[str, Any]:
        """See `PipelineTable`."""
        return {"topic": self.spec.topic}

    @cached_property
    def columns(self) -> dg.TableSchema | None:
        """See `PipelineTable`; by its schema files, or None where the registry alone knows them."""
        name = self.things.table
        fields = self.fields[name] if name in self.fields else file_fields(self.spec)
        return column_schema(to_iceberg(fields)) if fields is not None else None

    @property
    def keeps_dead_letters(self) -> bool:
        """See `PipelineTable`."""
        return self.spec.on_bad_record == "dead_letter"


def asset_spec(
    table: PipelineTable,
    path: AssetPath,
    *,
    kinds: set[str],
    about: str,
    code: Callable[..., Any],
    upstream: Sequence[AssetPath] = (),
    columns: dg.TableSchema | None = None,
    automation: dg.AutomationCondition[Any] | None = None,
    lineage: dg.TableColumnLineage | None = None,
) -> dg.AssetSpec:
    """One of the assets of a table: `about` says what materializing it does, `code` is what does it.

    Columns and lineage are those that are known before the first run.
    """
    spec, origin = table.spec, table.origin
    return dg.AssetSpec(
        key=dg.AssetKey(path),
        deps=[dg.AssetKey(other) for other in upstream],
        description="\n\n".join(filter(None, (spec.description, about))),
        group_name=origin.group if origin else None,
        owners=list(spec.owners or (origin.owners if origin else ())),
        tags={**spec.tags, **({} if path[0] == "kafka" else table.tags), "frazil/layer": path[0]},
        kinds=kinds,
        metadata={
            "dagster/code_references": _code(table, code),
            "late_and_broken": dg.MetadataValue.asset(ATTENTION),
            **table.metadata,
            **({"dagster/column_schema": columns} if columns else {}),
            **({"dagster/column_lineage": lineage} if lineage else {}),
        },
        automation_condition=automation,
    )


@cache
def after_upstream() -> dg.AutomationCondition[Any]:
    """Eager, but not past a failed check, and without eager's blind spot.

    The gate: what a blocking check of the upstream refuses is not shown to readers. The blind spot:
    eager overlooks an update by a run that planned this asset too, even if it never came to it; a
    landing step that fails for one table would leave the others' Glue entries behind.
    """
    condition = dg.AutomationCondition
    refused = condition.any_deps_match(
        condition.any_checks_match(condition.check_failed(), blocking_only=True)
    )
    eager = condition.eager().replace("newly_updated_without_root", condition.newly_updated())
    passed = (~refused).with_label("no blocking check of what it follows fails")
    return (eager.with_label("what it follows has changed") & passed).with_label("follows, if checks pass")


def op_name(path: AssetPath) -> str:
    """Name of the step that makes an asset."""
    return dg.AssetKey(path).to_python_identifier()


def _code(table: PipelineTable, code: Callable[..., Any]) -> dg.CodeReferencesMetadataValue:
    """Links to the user's lines and to the engine's function."""
    engine, origin = inspect.unwrap(code), table.origin
    places = [
        *([(origin.file, origin.line, "spec")] if origin else []),
        *([(table.file, 1, table.file.name)] if table.file else []),
        (engine.__code__.co_filename, engine.__code__.co_firstlineno, engine.__name__),
    ]
    return dg.CodeReferencesMetadataValue(
        code_references=[
            dg.LocalFileCodeReference(file_path=str(file), line_number=line, label=label)
            for file, line, label in places
        ]
    )
