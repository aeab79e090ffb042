"""Components of pipelines: what they share, and how Dagster loads a folder of them."""

from __future__ import annotations

import importlib.machinery
import sys
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Annotated, Any, ClassVar, Self, TypeVar

import dagster as dg
from dagster.components.core.decl import build_filesystem_component_decl_from_context
from dagster.components.core.defs_module import ComponentPath
from pydantic import BaseModel, Field, GetPydanticSchema, PrivateAttr
from pydantic_core import core_schema

from assets.description import Origin
from frazil.derive.queries.check import Fields, Known
from frazil.errors import FrazilError, SpecError
from frazil.pipelines.attributes import FILE
from frazil.pipelines.defaults import profile_defaults, with_defaults
from frazil.pipelines.file import beside
from frazil.pipelines.folder import Broken
from frazil.pipelines.places import fill_in
from frazil.settings.profile import Settings
from frazil.spec.names import legal
from frazil.spec.table import AnyTable

T = TypeVar("T", bound=AnyTable)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was read of all pipelines before Dagster builds their components, which take no arguments.

    `columns` are those of all tables that can be made; None where Dagster builds a component alone.
    """

    settings: Settings
    columns: Known | None = None
    fields: Fields = field(default_factory=dict)


LOADED: ContextVar[Loaded] = ContextVar("loaded")


def as_written(spec: type[AnyTable]) -> dg.Resolver:
    """Specs from YAML: read as the command line reads them, and described to editors field by field."""
    one = GetPydanticSchema(
        lambda _, __: core_schema.any_schema(),
        lambda _, handler: handler(spec.__pydantic_core_schema__),
    )
    return dg.Resolver(partial(_read, spec), model_field_type=Sequence[Annotated[Any, one]])


def only_a_list(schema: dict[str, Any]) -> None:
    """Takes the text away that Dagster allows in the place of a list.

    With it, `dg check yaml` says of any mistake in a table that the whole list "is not valid under any of the
    given schemas".
    """
    schema |= next(kind for kind in schema.pop("anyOf") if kind["type"] == "array")


_AS_IT_STANDS = dg.Resolver(lambda _, value: value, model_field_type=Mapping[str, Any])


def _read(spec: type[T], _: dg.ResolutionContext, tables: Sequence[Any]) -> list[T]:
    return [spec.model_validate(fill_in(table)) for table in tables]


class PipelineComponent(dg.Component, dg.Model, dg.Resolvable):
    """The tables of one document of a defs.yaml, and whose they are."""

    group: str | None = Field(None, description="Group of the assets. Default: the folder's name.")
    owners: Sequence[str] = Field((), description="Owners of tables that name no owner.")
    connection: str = Field(
        "", description="The connection of tables that name none: one of the profile's `connections`."
    )
    defaults: Annotated[Mapping[str, Any], _AS_IT_STANDS] = Field(
        {}, description="Fields of tables that do not write them; groups of fields are merged."
    )
    _kind: ClassVar[type[AnyTable]]
    _lines: tuple[int, ...] = PrivateAttr(())

    @classmethod
    def resolve_from_model(cls, context: dg.ResolutionContext, model: BaseModel) -> Self:
        """See `dg.Resolvable`; fills in defaults, and keeps the lines of the tables."""
        common = profile_defaults(cls.loaded().settings.table_defaults, cls._kind)
        tables = with_defaults(model.tables, model.defaults, common)  # type: ignore[attr-defined]
        model = model.model_copy(update={"tables": tables})
        made: Self = super().resolve_from_model(context, model)
        if tree := context.source_position_tree:
            places = ([*context.path, "tables", i] for i in range(len(model.tables)))  # type: ignore[attr-defined]
            made._lines = tuple(tree.lookup_closest_and_path(place, None)[0].start.line for place in places)
        return made

    @classmethod
    def get_code_references_for_yaml(cls, *_: object, **__: object) -> Sequence[Any]:
        """No reference to the whole file: each asset refers to its own lines."""
        return []

    @staticmethod
    def loaded() -> Loaded:
        """What was read of all pipelines; the settings alone, where Dagster builds this component alone."""
        return LOADED.get(None) or Loaded(Settings.load())

    def written(self, tables: Sequence[T], context: dg.ComponentLoadContext) -> list[tuple[T, Origin]]:
        """The tables, their files found beside the component, and where each was written."""
        path = Path(context.path)
        folder = path if path.is_dir() else path.parent
        name = legal(folder.name)
        group, owners = self.group or name, tuple(self.owners) or (f"team:{name}",)
        file = folder / FILE if path.is_dir() else path
        lines = self._lines or (1,) * len(tables)
        return [
            (beside(spec, folder, self.connection), Origin(file, line, group, owners))
            for spec, line in zip(tables, lines, strict=True)
        ]


def folder_definitions(
    folders: Iterable[Path], left_out: Collection[Path]
) -> tuple[list[dg.Definitions], list[Broken]]:
    """What the components and Python files of some folders define, and those of them that can't be loaded."""
    definitions: list[dg.Definitions] = []
    broken: list[Broken] = []
    for folder in folders:
        module = _module(folder)
        for path in (path for path in _children(folder) if path not in left_out):
            try:
                definitions.append(_definitions(module, folder, path))
            except Exception as e:  # noqa: BLE001 - one team's file must not end the others
                broken.append(Broken(legal(path.stem), path, _explained(e, path)))
    return definitions, broken


def _children(folder: Path) -> list[Path]:
    """What Dagster looks into; a folder that is a component itself is its only child."""
    if (folder / FILE).is_file():
        return [folder]
    return [path for path in sorted(folder.iterdir()) if path.name[0] != "." and path.name != "__pycache__"]


def _definitions(module: ModuleType, folder: Path, path: Path) -> dg.Definitions:
    tree = dg.ComponentTree.from_module(defs_module=module, project_root=folder.parent)
    with warnings.catch_warnings():
        # Dagster 1.13 warns of its own insides: of ComponentTree, and of pydantic's parse_obj_as.
        for category in (dg.PreviewWarning, dg.BetaWarning, DeprecationWarning):
            warnings.simplefilter("ignore", category)
        # A tree that knows of one child only: Dagster's own looks into all before it builds the first.
        context = tree.decl_load_context.for_component_loc(ComponentPath.from_path(path))
        child = build_filesystem_component_decl_from_context(context)
        if child is None:
            return dg.Definitions()
        tree.state_tracker.set_cache_data(ComponentPath.from_path(folder), component_decl=child)
        # By path: the root's own definitions import every installed library that has components,
        # dagster_snowflake among them, which costs each run eight seconds.
        return tree.build_defs(path)


def _explained(error: BaseException, path: Path) -> FrazilError:
    """What Dagster met first, and the line of the user's that it came from."""
    while error.__cause__:
        error = error.__cause__
    if isinstance(error, FrazilError):
        return error
    places = [
        f"{f.filename}:{f.lineno}"
        for f in extract_tb(error.__traceback__)
        if f.filename.startswith(str(path))
    ]
    where = places[-1] if places else path
    return SpecError(
        f"{where}: {type(error).__name__}: {error}", todo="Fix the file; Dagster can load nothing of it."
    )


def _module(folder: Path) -> ModuleType:
    """A package made by hand: Dagster wants a module, and a user's folder need not be one."""
    name = f"frazil_pipelines_{sha256(str(folder).encode()).hexdigest()[:8]}"
    spec = importlib.machinery.ModuleSpec(name, loader=None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    module = ModuleType(name)
    module.__spec__ = spec
    module.__path__ = [str(folder)]
    module.__file__ = str(folder / "__init__.py")
    sys.modules[name] = module
    return module
