"""How the rows of one table are split into its partitions, by Spark's workers.

Imports PyArrow only, and PyIceberg where a folder is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from frazil.exact import value_of
from frazil.tables.transforms import transformed
from frazil.tables.writing.task import packed, unpacked

if TYPE_CHECKING:
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema

Key = tuple[Any, ...]
"""The values of a partition, as manifests have them."""


@dataclass(frozen=True, slots=True)
class Partitions:
    """How rows are split."""

    spec: PartitionSpec
    schema: Schema
    sources: tuple[tuple[str, ...], ...]  # the path of names to each field's column

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[Key, pa.RecordBatch]]:
        """The rows of each partition."""
        values = [self._values(batch, place) for place in range(len(self.sources))]
        codes = np.zeros(len(batch), np.int64)
        for array in values:
            known = array.dictionary_encode(null_encoding="encode")
            codes = codes * len(known.dictionary) + known.indices.to_numpy()
        _, first, numbers = np.unique(codes, return_index=True, return_inverse=True)
        for number, at in enumerate(first.tolist()):
            key = tuple(value_of(array[at]) for array in values)
            yield key, batch if len(first) == 1 else batch.take(pa.array(np.flatnonzero(numbers == number)))

    def folder_of(self, key: Key) -> Any:
        """PyIceberg's key of a partition, which locations and manifests ask for."""
        from pyiceberg.partitioning import PartitionKey, partition_record_value
        from pyiceberg.typedef import Record

        from frazil.tables.folders import folder_of

        schema, pairs = self.schema, list(zip(self.spec.fields, key, strict=True))

        class Folder(PartitionKey):
            @cached_property
            def partition(self) -> Record:  # its own takes each column once
                return Record(*(partition_record_value(f, v, schema) for f, v in pairs))

            def to_path(self) -> str:
                return folder_of(self.partition_spec, self.schema, self.partition)

        return Folder([], self.spec, schema)

    def _values(self, batch: pa.RecordBatch, place: int) -> pa.Array:
        first, *rest = self.sources[place]
        column, of = batch.column(first), self.spec.fields[place]
        for name in rest:
            column = column.flatten()[column.type.get_field_index(name)]
        return transformed(column, of.transform, self.schema.find_type(of.source_id))


def stream_of(key: Key) -> bytes:
    """A partition's values with their types."""
    return packed(pa.RecordBatch.from_pydict({str(place): [value] for place, value in enumerate(key)}))


def key_in(stream: bytes) -> Key:
    """The values of a `WrittenFile.partition`."""
    return tuple(value_of(column[0]) for column in unpacked(stream).columns)
