"""The seam between formats and landings: what a format must know, and what all of them have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from frazil.errors import MALFORMED, SchemaRefusedError, TooManyFieldsError
from frazil.formats.bare import Bare
from frazil.formats.columns.proposals import advised
from frazil.formats.columns.unmappable import REFUSED, Unmappable, note, plain
from frazil.formats.encryption.contract import NO_CONTRACT, Contract
from frazil.formats.encryption.leaves import Leaf
from frazil.formats.logical import MAX_DIGITS, Decimal, Struct
from frazil.formats.paths import member_path

if TYPE_CHECKING:
    import pyarrow as pa

MAX_DEPTH = 64
"""Most levels of a schema; one that refers to itself would never end."""

MAX_FIELDS = 20_000
"""Most fields that a schema may come to; one whose parts each use another twice doubles with every level."""

MOST_PLACES = 4_000_000
"""Values that a record may take in columns beyond its bytes, empty ones as well: some 40 MB of memory.

A few bytes may become very many of them: an empty message within another is two bytes, and a place per field.
"""

_FIELDS_OF_CUT = 2_000
"""Most fields of a schema that is cut because it came to more than a table can be planned with."""

T = TypeVar("T")

Refuse = Callable[[str, str], SchemaRefusedError]
"""Makes the error about one field from the reason and what to do."""

Reason = tuple[str, str]
"""Why a record is bad: a code for machines, words for people."""

UNREADABLE = "unreadable_schema"
"""Such a code: it was written by a version of its subject that the newest one does not read."""


@dataclass(frozen=True, slots=True)
class Half:
    """The key or the value of a record, and the columns that its decoder reads and adds."""

    word: Literal["key", "value"]

    @property
    def raw(self) -> str:
        """The bytes, as Kafka holds them; null where the record has none."""
        return f"raw_{self.word}"

    @property
    def data(self) -> str:
        """The decoded struct, of the decoder's `columns`."""
        return f"_{self.word}"

    @property
    def ok(self) -> str:
        """Whether the bytes were decoded, all of them; never null, and false where there are none."""
        return f"_{self.word}_ok"

    @property
    def writer(self) -> str:
        """Who wrote it: an index into the decoder's `writers`, or null."""
        return f"_{self.word}_writer"


KEY, VALUE = Half("key"), Half("value")


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """One version of a subject: a schema, and the texts of all that it refers to."""

    schema_id: int  # stands in the records
    version: int  # within the subject
    text: str
    kind: str  # its format, by the registry's name: `AVRO`, `JSON`, `PROTOBUF`
    references: tuple[tuple[str, str, int], ...] = ()  # to others, as (name, subject, version)
    dependencies: tuple[tuple[str, str], ...] = field(default=(), compare=False)  # by name, deepest first
    is_deleted: bool = field(default=False, compare=False)  # softly: records of it are still read
    guid: str = field(default="", compare=False)  # of the same schema in any registry; not every one tells it
    glue_id: str = field(default="", compare=False)  # the UUID of the version in Glue's registry
    azure_id: str = field(default="", compare=False)  # the id of the version in Azure's registry
    global_ids: tuple[int, ...] = field(default=(), compare=False)  # at Apicurio, of one or more versions
    long_ids: tuple[int, ...] = field(default=(), compare=False)  # in eight bytes before a payload
    contract: Contract = NO_CONTRACT  # what the registry keeps beside the text


@dataclass(frozen=True, slots=True)
class DecodedBatch:
    """One half of a batch of records, decoded: row by row what `Half`'s columns hold."""

    data: pa.StructArray  # of the decoder's `columns`, by `arrow_type`; any row where `ok` is false
    ok: pa.BooleanArray  # without nulls; false where there are no bytes
    writer: pa.Int32Array  # an index into the decoder's `writers`, or null


class ArrowDecoder(Protocol):
    """Decodes by columns, in Spark's Python workers: it can be pickled, and a bad record raises nothing."""

    @property
    def places_per_byte(self) -> float:
        """Values in columns that a byte may become, empty ones as well."""

    def decode(self, raw: pa.BinaryArray) -> DecodedBatch:
        """One row per record; null where the record has no such half."""


class Decoder(Protocol):
    """Decodes keys or values of one topic, each with the schema that it was written with."""

    @property
    def writers(self) -> tuple[int, ...]:
        """Schema ids, by the index that `Half.writer` holds; empty where the format has none."""

    @property
    def columns(self) -> Struct:
        """The columns that one half becomes, for all writers."""

    def arrow(self) -> ArrowDecoder:
        """What decodes batches of them, wherever it is sent."""

    def explain(self, raw: bytes) -> Reason:
        """Why these bytes are bad, by an independent decoder. Slow: for bad records only."""

    def values(self, raw: bytes) -> Bare | None:
        """The columns by that independent decoder; None where it finds the bytes bad. Slow: for samples."""


@dataclass(frozen=True, slots=True)
class HalfSchemas:
    """How one half of a topic's records is written, and how the spec wants it read."""

    half: Half
    format: Format
    subject: str  # named in errors even where the registry has none
    writers: tuple[WriterSchema, ...] = ()  # of this format, oldest first; the last one is the reader
    framed: bool = True  # with Confluent's header before each payload; else all are of the newest schema
    record_type: str | None = None  # full name of the record, where a schema declares several
    strict: bool = False  # every rule of the schema must hold, not only types and required fields
    renames: tuple[tuple[str, str], ...] = ()  # that were approved, as (from, to)
    unmappable: Unmappable = REFUSED  # where text stands in for what no column holds
    spared: tuple[str, ...] = ()  # paths of fields that no record has to have, though the schema says so
    asks_rules: bool = False  # whether a record is bad that fails a rule for readers

    @property
    def unasked_rules(self) -> tuple[str, ...]:
        """Rules of its versions that readers shall follow, and that nobody asks here, by name."""
        writers = () if self.asks_rules else self.writers
        return tuple(dict.fromkeys(r.title for writer in writers for r in writer.contract.for_readers))

    @property
    def columns(self) -> Struct:
        """What it becomes by its newest schema; raises SchemaRefusedError where no column can hold that."""
        return advised(self.unmappable, lambda tried: self.format.columns(self._with(tried)))

    def decoder(self) -> Decoder:
        """What decodes it; raises as `columns` does."""
        return advised(self.unmappable, lambda tried: self.format.decoder(self._with(tried)))

    def _with(self, unmappable: Unmappable) -> HalfSchemas:
        return self if unmappable is self.unmappable else replace(self, unmappable=unmappable)


class Format(Protocol):
    """A way to write keys or values."""

    def columns(self, schemas: HalfSchemas) -> Struct:
        """See `HalfSchemas.columns`."""

    def decoder(self, schemas: HalfSchemas) -> Decoder:
        """What decodes them; refuses, as `columns` does, what no column can hold."""


class SchemaFormat(Format, Protocol):
    """A format whose schemas the registry keeps."""

    @property
    def title(self) -> str:
        """Its name, for people."""

    @property
    def takes_record_type(self) -> bool:
        """Whether one schema may declare several records, of which `record_type` names one."""

    def check(self, text: str) -> None:
        """Raises ValueError where a text is no schema of this format, and says why."""

    def shape(self, schema: WriterSchema) -> Iterable[tuple[str, Any]]:
        """What gives records their shape, by path: schemas of the same shape describe the same records."""

    def fingerprint(self, schema: WriterSchema) -> bytes:
        """What names the schema in payloads by itself; empty where the format has no such thing."""

    def leaves(self, schemas: HalfSchemas, schema: WriterSchema) -> Iterable[Leaf]:
        """The values without parts of one version's records, with the fields that they stand in."""


def doc_text(doc: Any) -> str:
    """What a schema says of a field, as files can hold it; empty where that is no text."""
    return doc.encode("utf-8", "replace").decode() if isinstance(doc, str) else ""


class Mapping:
    """One walk over one schema of a subject, from its fields to columns."""

    def __init__(self, subject: str, unmappable: Unmappable = REFUSED, deepest: int = MAX_DEPTH) -> None:
        self._subject, self._unmappable, self._deepest = subject, unmappable, deepest
        self._most = _FIELDS_OF_CUT if 0 < deepest < MAX_DEPTH else MAX_FIELDS  # cut as far as it can be
        self._fields = 0
        self._at = ""
        self._texts: dict[str, str] = {}  # why a field is text, by its path
        self._whole_at = ""  # the path of one that can't be text in parts

    def or_text(self, path: str, make: Callable[[], T], text: Callable[[], T]) -> T:
        """What `make` finds at a path, or the text in its place where it refuses and the spec allows text."""
        try:
            return make()
        except TooManyFieldsError:
            raise
        except SchemaRefusedError as e:
            if not self._unmappable.takes(path):
                raise
            self._texts[plain(path)] = e.what.partition(": ")[2].rstrip(".")
            return text()

    def commented(self, path: str, doc: str) -> str:
        """A field's doc; it says so where the field holds text."""
        why = self._texts.get(plain(path))
        return note(doc, why) if why else doc

    def cut_at(self, path: str, depth: int) -> None:
        """Refuses what has parts where the schema is cut."""
        if depth > self._deepest:
            raise self.refusal(path, f"the schema is cut {self._deepest} levels deep", "Make it flatter.")

    def count(self, path: str, fields: int = 1) -> None:
        """Refuses a schema that comes to more fields than a table can be planned with."""
        self._fields, self._at = self._fields + fields, path
        if self._fields > self._most:
            error = self.refusal(path, f"it has more than {MAX_FIELDS} nested fields", "Split it.")
            raise TooManyFieldsError(
                error.what, where=error.where, meaning=error.meaning, todo=error.todo, field=error.field
            )

    @contextmanager
    def schema(self, title: str) -> Iterator[None]:
        """Refuses what is no schema at all; the walk itself need not look at the type of every part."""
        try:
            yield
        except RecursionError:
            why = f"it is deeper than {MAX_DEPTH} levels"
            raise self.refusal(self._at, why, "Make it flatter.") from None
        except MALFORMED as e:
            why = f"it is no {title} schema ({type(e).__name__}: {e!s:.200})"
            raise self.refusal(self._at, why, "Fix the schema.") from None

    def refusal(self, path: str, why: str, todo: str) -> SchemaRefusedError:
        """The error that says which field of which subject can't become a column."""
        return SchemaRefusedError(
            f"The schema can't become a table: {why}.",
            where=f"subject {self._subject}, field {path or '(root)'}",
            meaning="Nothing was landed.",
            todo=todo,
            field=plain(self._whole_at or path),
        )

    def check_names(self, names: Collection[str], path: str, owner: str) -> None:
        """Refuses a record without fields, and names that are the same, or differ by case only."""
        if not names:
            raise self.refusal(path, f"{owner} without fields has no column type", "Add one.")
        seen: dict[str, str] = {}
        for name in names:
            if twin := seen.get(name.lower()):
                where = member_path(path, name)
                why = f"{twin} and {name} differ by case only" if twin != name else f"{name} is there twice"
                raise self.refusal(where, why, "Rename one of them.")
            seen[name.lower()] = name


def decimal_type(precision: int, scale: int, refuse: Refuse) -> Decimal:
    """The type of a number with this many digits, or with as many as a column can hold.

    Nothing is rounded: a record with a number of more digits is a bad one.
    """
    if precision < 1 or not 0 <= scale <= min(precision, MAX_DIGITS):
        raise refuse(f"decimal({precision},{scale}) is out of range", "Use a scale of 0..38 digits.")
    narrowed = precision > MAX_DIGITS
    return Decimal(min(precision, MAX_DIGITS), scale, precision if narrowed else 0)
