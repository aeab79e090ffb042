"""What OpenLineage's facets say of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import attr
from openlineage.client.facet_v2 import (
    DatasetFacet,
    InputDatasetFacet,
    catalog_dataset,
    column_lineage_dataset,
    data_quality_assertions_dataset,
    dataset_version_dataset,
    documentation_dataset,
    ownership_dataset,
    schema_dataset,
    symlinks_dataset,
    tags_dataset,
)

from frazil.checks.result import CheckResult
from frazil.landing.position.ledger import Span
from frazil.settings.profile import Settings
from frazil.spec.table import AnyTable
from frazil_lineage.names import DatasetName, public

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.types import IcebergType, NestedField

OFFSETS = "frazil_kafkaOffsets"
"""Key of the facet with the offsets that a landing read."""

_OFFSETS_SCHEMA = "urn:frazil:lineage:1-0-0:FrazilKafkaOffsetsInputDatasetFacet"

Column = schema_dataset.SchemaDatasetFacetFields


@attr.define
class OffsetsFacet(InputDatasetFacet):
    """Which offsets of a topic were read; docs/lineage.md has its schema."""

    spans: list[dict[str, int]]

    @staticmethod
    def _get_schema() -> str:
        return _OFFSETS_SCHEMA


def offsets_facet(spans: Mapping[int, Span]) -> OffsetsFacet:
    """The offsets that a landing read of each partition: from `first`, up to but without `end`."""
    return OffsetsFacet([{"partition": p, "first": s[0], "end": s[1]} for p, s in sorted(spans.items())])


def schema_facet(schema: Schema) -> schema_dataset.SchemaDatasetFacet:
    """The columns of a table, with the fields of nested ones."""
    return schema_dataset.SchemaDatasetFacet([_column(field) for field in schema.fields])


def version_facet(version: int | str) -> dataset_version_dataset.DatasetVersionDatasetFacet:
    """Which version of a dataset was read or written: a snapshot's id, or a metadata file."""
    return dataset_version_dataset.DatasetVersionDatasetFacet(str(version))


def written_facets(spec: AnyTable) -> Iterator[tuple[str, DatasetFacet]]:
    """What the spec says of a table to people: its owners, tags and description."""
    if spec.owners:
        owners = [ownership_dataset.Owner(owner) for owner in spec.owners]
        yield "ownership", ownership_dataset.OwnershipDatasetFacet(owners)
    if spec.tags:
        tags = [tags_dataset.TagsDatasetFacetFields(k, v, "FRAZIL") for k, v in spec.tags.items()]
        yield "tags", tags_dataset.TagsDatasetFacet(tags)
    if spec.description:
        yield "documentation", documentation_dataset.DocumentationDatasetFacet(spec.description)


def catalog_facets(settings: Settings, alias: DatasetName | None) -> Iterator[tuple[str, DatasetFacet]]:
    """Which catalog owns a table, and the table's name there."""
    is_rest = settings.catalog == "rest"
    yield (
        "catalog",
        catalog_dataset.CatalogDatasetFacet(
            framework="iceberg",
            type=settings.catalog,
            name=settings.cluster,
            metadataUri=public(settings.rest.uri) if is_rest else None,
            warehouseUri=None if is_rest else settings.glue.warehouse,
            source="frazil",
        ),
    )
    if alias:
        links = [symlinks_dataset.Identifier(alias.namespace, alias.name, "TABLE")]
        yield "symlinks", symlinks_dataset.SymlinksDatasetFacet(links)


def lineage_facet(
    columns: Mapping[str, Iterable[tuple[str, str]]], inputs: Mapping[str, DatasetName]
) -> column_lineage_dataset.ColumnLineageDatasetFacet:
    """By column of a table the columns of its inputs that its values come from."""
    return column_lineage_dataset.ColumnLineageDatasetFacet(
        {
            name: column_lineage_dataset.Fields(
                [
                    column_lineage_dataset.InputField(inputs[table].namespace, inputs[table].name, column)
                    for table, column in origins
                ]
            )
            for name, origins in columns.items()
        }
    )


def assertions_facet(
    results: Iterable[CheckResult],
) -> data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet:
    """What checks found."""
    return data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
        [
            data_quality_assertions_dataset.Assertion(
                assertion=result.check,
                success=result.passed,
                severity=result.severity.lower(),
                name=f"{'.'.join(result.asset)}:{result.check}",
                description=result.text,
            )
            for result in results
        ]
    )


def _column(field: NestedField) -> Column:
    return Column(field.name, _kind(field.field_type), field.doc, fields=_parts(field.field_type))


def _kind(kind: IcebergType) -> str:
    from pyiceberg.types import ListType, MapType, StructType

    words = {StructType: "struct", ListType: "array", MapType: "map"}
    return next((word for of, word in words.items() if isinstance(kind, of)), str(kind))


def _parts(kind: IcebergType) -> list[Column]:
    """The fields within a column: of arrays `_element`, of maps `key` and `value` (OpenLineage's rule)."""
    from pyiceberg.types import ListType, MapType, StructType

    match kind:
        case StructType():
            return [_column(field) for field in kind.fields]
        case ListType():
            parts = {"_element": kind.element_type}
        case MapType():
            parts = {"key": kind.key_type, "value": kind.value_type}
        case _:
            return []
    return [Column(name, _kind(part), fields=_parts(part)) for name, part in parts.items()]
