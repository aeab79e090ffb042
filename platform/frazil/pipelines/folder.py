"""All pipelines that users write, the same for Dagster and for the command line."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from frazil.errors import FrazilError, SpecError, explain
from frazil.pipelines.attributes import FILE
from frazil.pipelines.file import Pipeline, load_pipeline
from frazil.publishing.targets import TARGETS
from frazil.publishing.views.target import Views
from frazil.publishing.views.wanted import view_names
from frazil.settings.files import expanded
from frazil.settings.profile import Settings
from frazil.spec.names import LONGEST_NAME, AssetPath, TableName, legal, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec


def _path(name: str) -> AssetPath:
    return ("pipelines", name)


@dataclass(frozen=True, slots=True)
class Broken:
    """A pipeline or a deployment that can't be used, or not all of it, and why."""

    name: str
    folder: Path
    error: FrazilError
    kind: Literal["pipelines", "deployments"] = "pipelines"

    @property
    def path(self) -> AssetPath:
        """Key of the asset that stands for it."""
        return (self.kind, self.name)


@dataclass(frozen=True, slots=True)
class Pipelines:
    """The pipelines that can be used, by name, and those that can't."""

    sound: tuple[Pipeline, ...] = ()
    broken: tuple[Broken, ...] = ()

    def all(self) -> tuple[Pipeline, ...]:
        """Every pipeline; an error that holds every mistake where any is broken."""
        if len(self.broken) == 1:
            raise self.broken[0].error
        if self.broken:
            mistakes = "\n".join(broken.error.what for broken in self.broken)
            raise SpecError(mistakes, todo="Fix the files; nothing was started.")
        return self.sound

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all pipelines, whether they can be used or not."""
        return tuple(each.name for each in self.sound) + tuple(each.name for each in self.broken)

    @property
    def errors(self) -> dict[AssetPath, FrazilError | None]:
        """By the key that a broken one's asset has: why it can't be used; None of sound ones."""
        fine = {_path(pipeline.name): None for pipeline in self.sound}
        return {**fine, **{broken.path: broken.error for broken in self.broken}}

    @property
    def unused(self) -> set[Path]:
        """The folders of which nothing can be used."""
        return {broken.folder for broken in self.broken} - {pipeline.folder for pipeline in self.sound}

    def without(self, broken: Sequence[Broken]) -> Pipelines:
        """The same, after some more turned out to be broken."""
        folders = {other.folder for other in broken}
        sound = tuple(pipeline for pipeline in self.sound if pipeline.folder not in folders)
        return Pipelines(sound, (*self.broken, *broken))


def pipeline_folders(settings: Settings) -> list[Path]:
    """The folders of pipelines: `settings.pipelines`, by default those that come with Frazil."""
    return folders_in(settings.pipelines, "pipelines")


def folders_in(written: str, shipped: str) -> list[Path]:
    """The folders of a setting, separated like PATH; where it is empty, those that come with Frazil."""
    if written:
        return [_folder(Path(p), shipped) for p in written.split(os.pathsep) if p]
    package = importlib.util.find_spec("assets")
    places = package.submodule_search_locations if package else None
    return [Path(place) / shipped for place in places or ()]


def _folder(written: Path, kind: str) -> Path:
    try:
        return expanded(written).absolute()
    except ValueError as e:
        raise SpecError(f"{written}: {e}.", todo=f"Fix FRAZIL_{kind.upper()}.") from None


def folders_with_file(root: Path, kind: str = "pipelines") -> list[Path]:
    """The folders below one, or this one, that hold a defs.yaml."""
    if not root.is_dir():
        raise SpecError(f"{root}: there is no such folder of {kind}.", todo=f"Fix FRAZIL_{kind.upper()}.")
    if (root / FILE).is_file():
        return [root]
    return sorted(file.parent for file in root.glob(f"*/{FILE}"))


def load_pipelines(folders: Sequence[Path] | None = None, settings: Settings | None = None) -> Pipelines:
    """All pipelines by name: of some folders, or of those of the profile in force.

    Broken are those with a mistake in a file, and those whose name, or a table of which, an earlier one has.

    Raises:
        SpecError: There is no such folder.
    """
    settings = settings or Settings.load()
    roots = pipeline_folders(settings) if folders is None else folders
    broken: list[Broken] = []
    sound: list[Pipeline] = []
    places: _Places = {}
    read = [
        p for root in roots for folder in folders_with_file(root) if (p := _read(folder, settings, broken))
    ]
    for pipeline in sorted(read, key=lambda pipeline: pipeline.name):
        try:
            _refuse_equal_names(pipeline, sound)
            places |= _places(pipeline, settings, places)
            sound.append(pipeline)
        except FrazilError as e:
            broken.append(Broken(pipeline.name, pipeline.folder, e))
    return Pipelines(tuple(sound), tuple(broken))


def _read(folder: Path, settings: Settings, broken: list[Broken]) -> Pipeline | None:
    """The pipeline of a folder, if it holds one that can be understood; what is broken is added."""
    try:
        return load_pipeline(folder, settings)
    except Exception as e:  # noqa: BLE001 - one team's file must not end the others, whatever is in it
        broken.append(Broken(legal(folder.name), folder, explain(e)))
        return None


def _refuse_equal_names(pipeline: Pipeline, others: Sequence[Pipeline]) -> None:
    for first in (other for other in others if other.name == pipeline.name):
        raise SpecError(
            f"{pipeline.file}: there is another pipeline {pipeline.name} in {first.file}",
            todo="Give one of the two folders another name.",
        )


_Places = dict[AssetPath, str]
"""File and line of every thing that a pipeline makes."""


def _places(pipeline: Pipeline, settings: Settings, others: _Places) -> _Places:
    """Places of one pipeline's tables; two of the same name in one place would overwrite each other."""
    own: _Places = {}
    for spec, line in pipeline.every_table:
        place = f"{pipeline.file}:{line}"
        _refuse_long_names(spec, settings, place)
        _refuse_views(spec, settings, place)
        for path in _paths(spec, settings):
            first = others.get(path) or own.get(path)
            if first and not _shared(pipeline, path, first):
                raise SpecError(f"{place}: {'/'.join(path)} is there already, in {first}", todo=_apart(path))
            own[path] = place
    return own


def _refuse_long_names(spec: AnyTable, settings: Settings, place: str) -> None:
    """Refuses a table whose name, or that of its dead letters, no catalog takes."""
    if spec.is_read_only:
        return
    name = things(spec, settings).table
    keeps = isinstance(spec, TableSpec) and spec.on_bad_record == "dead_letter"
    views = [TableName(name.namespace, view) for view in view_names(spec, name) if Views.word in spec.publish]
    letters = [("table of dead letters", name.dead_letters)] if keeps else []
    for what, each in (("table", name), *letters, *(("view", view) for view in views)):
        if len(each.table) > LONGEST_NAME:
            raise SpecError(
                f"{place}: the name of the {what} would have {len(each.table)} letters, "
                f"and catalogs take {LONGEST_NAME}: {each.table}",
                todo="Name a shorter `table`. If it is there already, let `on_bad_record` be as it was: "
                "under another name it starts over.",
            )


def _refuse_views(spec: AnyTable, settings: Settings, place: str) -> None:
    """Refuses views where no catalog of Frazil's can hold them."""
    if Views.word not in spec.publish:
        return
    why = "Glue holds no Iceberg views" if settings.of(spec.connection).catalog == "glue" else ""
    if why := "the catalog is Tableflow's" if spec.is_read_only else why:
        raise SpecError(
            f"{place}: publish: {Views.word}: {why}",
            todo="Take it out of `publish`. Snowflake has views of its own, and Athena makes them by SQL.",
        )


def _shared(pipeline: Pipeline, path: AssetPath, first: str) -> bool:
    """Whether it is a topic of several tables in one file: one asset stands for it, and describes it."""
    return path[0] == "kafka" and first.rpartition(":")[0] == str(pipeline.file)


def _apart(path: AssetPath) -> str:
    if path[0] == "kafka":
        return "Write all tables of a topic into one file, each with a `table` of its own."
    return "Name another `table` or `namespace` for the newer of the two: one that is there starts over."


def _paths(spec: AnyTable, settings: Settings) -> Iterator[AssetPath]:
    """Asset keys of the table, of its topic, and of every place that may show it."""
    names = things(spec, settings)
    if names.topic:
        yield names.kafka_path
    yield names.iceberg_path
    if Views.word in spec.publish:  # tables and views of a namespace share their names
        yield from (("iceberg", names.table.namespace, name) for name in view_names(spec, names.table))
    yield from (target(spec, settings.of(spec.connection)).path for target in TARGETS.values())
