"""What engines refuse of a table, by their own documents: names, types, layout, version.

Only engines that can't run here are listed. Those that can are read with in tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil.checks.result import Subject, Verdict
from frazil.errors import UsageError
from frazil.spec.table import AnyTable
from frazil.tables.metadata.snapshots import number, summary_of

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Reader:
    """An engine, and what its documents say.

    Args:
        source: The page that says it.
        refused: Iceberg's types that it does not read.
        altered: Iceberg's types of which it shows other values, and which.
        newest: The newest format version that it reads.
        transforms: Partitions' transforms that it does not read.
        equality: Whether it applies deletes by equality.
        folds_case: Whether two columns whose names differ only in case are one to it.
    """

    name: str
    source: str
    refused: frozenset[str] = frozenset({"fixed", "time", "uuid"})
    altered: Mapping[str, str] = field(default_factory=dict)
    newest: int = 2
    transforms: frozenset[str] = frozenset()
    equality: bool = True
    folds_case: bool = True


READERS = {
    reader.name: reader
    for reader in (
        Reader(
            "athena",
            "https://docs.aws.amazon.com/athena/latest/ug/querying-iceberg-supported-data-types.html",
        ),
        Reader(
            "redshift",
            "https://docs.aws.amazon.com/redshift/latest/dg/querying-iceberg-supported-data-types.html",
            altered={"string": "cut at 16,384 bytes", "binary": "at most 64,000 bytes"},
        ),
        Reader(
            "impala",
            "https://docs.cloudera.com/cdw-runtime/cloud/iceberg-how-to/topics/iceberg-data-types.html",
        ),
        Reader(
            "snowflake",
            "https://docs.snowflake.com/en/user-guide/tables-iceberg-v3-specification-support",
            refused=frozenset(),
            newest=3,
            equality=False,  # its error 091968
        ),
        Reader(
            "bigquery",
            "https://docs.cloud.google.com/bigquery/docs/iceberg-external-tables",
            refused=frozenset(),
        ),
        Reader(
            "fabric",
            "https://learn.microsoft.com/en-us/fabric/onelake/onelake-iceberg-tables",
            refused=frozenset({"time"}),
            altered={
                "timestamp": "timestamp_ntz, which not all of Fabric reads",
                **dict.fromkeys(("fixed", "uuid", "struct", "list", "map"), "not in its list of types"),
            },
            transforms=frozenset({"bucket", "truncate", "void"}),
        ),
    )
}
"""By the name that `--reader` takes. Catalogs of Glue and Hive know no capitals."""


def reader_of(name: str) -> Reader:
    """The reader of a name; raises UsageError where nothing is known of it."""
    if name not in READERS:
        raise UsageError(
            f"Nothing is known of the reader {name}.",
            todo=f"Known are {', '.join(READERS)}; see docs/readers.md.",
        )
    return READERS[name]


def judge_reader(subject: Subject[AnyTable], reader: Reader) -> Verdict:
    """Whether an engine can read a table, by its columns and the version of its format.

    Values that the engine shows otherwise are told of, and fail nothing.
    """
    metadata = subject.handle.load().metadata
    types = column_types(metadata.schema())
    refusals = [*refusals_of(reader, types, metadata.format_version), *layout_refusals(reader, metadata)]
    altered = [f"{kind}: {how}" for kind, how in reader.altered.items() if kind in types.values()]
    numbers = {"columns": len(types), "refused": len(refusals)}
    if not refusals:
        return Verdict(True, ". ".join([f"{len(types)} columns that it reads", *altered]) + ".", numbers)
    more = f", and {len(refusals) - _NAMED} more" if len(refusals) > _NAMED else ""
    return Verdict(False, f"{'; '.join(refusals[:_NAMED])}{more}. See {reader.source}", numbers)


def layout_refusals(reader: Reader, metadata: TableMetadata) -> Iterator[str]:
    """What it does not read of a table's files: by their partitions, and by what deletes rows of them."""
    fields = (field for spec in metadata.partition_specs for field in spec.fields)
    transforms = {str(field.transform).partition("[")[0] for field in fields}
    for word in sorted(transforms & reader.transforms):
        yield f"files are partitioned by {word}"
    head = metadata.current_snapshot()
    if not reader.equality and head is not None and number(summary_of(head), "total-equality-deletes"):
        yield "rows are deleted by equality; `frazil compact --everything` applies that"


def column_types(schema: Schema) -> dict[str, str]:
    """All columns by their paths, nested ones too, with the first word of their types."""
    types = {}
    for field_id in sorted(schema.field_ids):
        path = schema.find_column_name(field_id)
        assert path is not None
        types[path] = str(schema.find_type(field_id)).partition("<")[0].partition("[")[0].partition("(")[0]
    return types


def refusals_of(reader: Reader, types: Mapping[str, str], version: int) -> Iterator[str]:
    """What an engine does not read, in words: the format, columns by their types, columns by their names."""
    if version > reader.newest:
        yield f"it reads format version {reader.newest}, and this is {version}"
    for path, kind in types.items():
        if kind in reader.refused:
            yield f"{path} is {kind}"
    alike = Counter(path.lower() for path in types)
    for path in types:
        if reader.folds_case and alike[path.lower()] > 1:
            yield f"{path} is the name of another column, but for capitals"
