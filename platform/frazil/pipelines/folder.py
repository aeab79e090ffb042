"""All pipelines that users write, the same for Dagster and for the command line."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from frazil.errors import SpecError
from frazil.pipelines.file import FILE, Pipeline, load_pipeline
from frazil.publishing.targets import TARGETS
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec


def pipeline_folders(settings: Settings) -> list[Path]:
    """The folders of pipelines: `settings.pipelines`, by default those that come with Frazil."""
    if settings.pipelines:
        return [Path(p).expanduser().absolute() for p in settings.pipelines.split(os.pathsep) if p]
    found = importlib.util.find_spec("assets")
    places = found.submodule_search_locations if found else None
    return [Path(place) / "pipelines" for place in places or ()]


def load_pipelines(
    folders: Sequence[Path] | None = None, settings: Settings | None = None
) -> tuple[Pipeline, ...]:
    """All pipelines by name: of some folders, or of those of the profile in force.

    A SpecError tells of a missing folder, a mistake in a file, or two tables that are the same thing.
    """
    settings = settings or Settings.load()
    found = [
        pipeline
        for root in (pipeline_folders(settings) if folders is None else folders)
        for folder in _folders_with_file(root)
        if (pipeline := load_pipeline(folder))
    ]
    found.sort(key=lambda pipeline: pipeline.name)
    _refuse_equal_names(found)
    _refuse_equal_things(found, settings)
    return tuple(found)


def _folders_with_file(root: Path) -> list[Path]:
    if not root.is_dir():
        raise SpecError(f"{root}: there is no such folder of pipelines.", todo="Mend FRAZIL_PIPELINES.")
    if (root / FILE).is_file():
        return [root]
    return sorted(file.parent for file in root.glob(f"*/{FILE}"))


def _refuse_equal_names(pipelines: Sequence[Pipeline]) -> None:
    seen: dict[str, Pipeline] = {}
    for pipeline in pipelines:
        if first := seen.get(pipeline.name):
            raise SpecError(
                f"{pipeline.file}: there is another pipeline {pipeline.name} in {first.file}",
                todo="Give one of the two folders another name.",
            )
        seen[pipeline.name] = pipeline


def _refuse_equal_things(pipelines: Sequence[Pipeline], settings: Settings) -> None:
    """Two tables of the same name in any place would overwrite each other there."""
    seen: dict[tuple[str, ...], str] = {}
    for pipeline in pipelines:
        for spec, line in pipeline.every_table:
            place = f"{pipeline.file}:{line}"
            for path in _paths(spec, settings):
                if path in seen and not _shared(spec, pipeline, path, seen[path]):
                    raise SpecError(
                        f"{place}: {'/'.join(path)} is there already, in {seen[path]}",
                        todo="Name another `table` or `namespace` in one of the two places.",
                    )
                seen[path] = place


def _shared(spec: AnyTable, pipeline: Pipeline, path: tuple[str, ...], first: str) -> bool:
    """Whether it is a topic of several record types in one file: one asset, a table for each type."""
    here = first.rpartition(":")[0] == str(pipeline.file)
    many = isinstance(spec, TableSpec) and spec.subject_names != "topic" and path == ("kafka", spec.topic)
    return many and here


def _paths(spec: AnyTable, settings: Settings) -> Iterator[AssetPath]:
    """Asset keys of the table, of its topic, and of every place that may show it."""
    names = things(spec, settings)
    if names.topic:
        yield names.kafka_path
    yield names.iceberg_path
    yield from (target(spec, settings).path for target in TARGETS.values())
