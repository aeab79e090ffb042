"""What the components of a pipeline share: typed attributes, their lines, and whose the assets are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

import dagster as dg
from pydantic import BaseModel, Field, GetPydanticSchema, PrivateAttr
from pydantic_core import core_schema

from assets.described import Origin
from frazil.pipelines.file import FILE, beside
from frazil.pipelines.templates import fill_in
from frazil.spec.names import legal
from frazil.spec.table import AnyTable

__all__ = ["PipelineComponent", "as_written"]

T = TypeVar("T", bound=AnyTable)


def as_written(spec: type[AnyTable]) -> dg.Resolver:
    """Specs from YAML: read as the command line reads them, and described to editors field by field."""
    one = GetPydanticSchema(
        lambda _, __: core_schema.any_schema(),
        lambda _, handler: handler(spec.__pydantic_core_schema__),
    )
    return dg.Resolver(partial(_read, spec), model_field_type=Sequence[Annotated[Any, one]])


def _read(spec: type[T], _: dg.ResolutionContext, tables: Sequence[Any]) -> list[T]:
    return [spec.model_validate(fill_in(table)) for table in tables]


class PipelineComponent(dg.Component, dg.Model, dg.Resolvable):
    """The tables of one document of a defs.yaml, and whose they are."""

    group: str | None = Field(None, description="Group of the assets; default: the folder's name.")
    owners: Sequence[str] = Field((), description="Owners of tables that name none.")
    _lines: tuple[int, ...] = PrivateAttr(())

    @classmethod
    def resolve_from_model(cls, context: dg.ResolutionContext, model: BaseModel) -> Self:
        """See `dg.Resolvable`; keeps the lines of the tables."""
        made: Self = super().resolve_from_model(context, model)
        if tree := context.source_position_tree:
            places = ([*context.path, "tables", i] for i in range(len(model.tables)))  # type: ignore[attr-defined]
            made._lines = tuple(tree.lookup_closest_and_path(place, None)[0].start.line for place in places)
        return made

    @classmethod
    def get_code_references_for_yaml(cls, *_: object, **__: object) -> Sequence[Any]:
        """None of the whole file: each asset refers to its own lines of it."""
        return []

    def written(self, tables: Sequence[T], context: dg.ComponentLoadContext) -> list[tuple[T, Origin]]:
        """The tables, their files found beside the component, and where each was written."""
        path = Path(context.path)
        folder = path if path.is_dir() else path.parent
        name = legal(folder.name)
        group, owners = self.group or name, tuple(self.owners) or (f"team:{name}",)
        file = folder / FILE if path.is_dir() else path
        lines = self._lines or (1,) * len(tables)
        return [
            (beside(spec, folder), Origin(file, line, group, owners))
            for spec, line in zip(tables, lines, strict=True)
        ]
