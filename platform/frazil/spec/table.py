"""What a user may say of any table, made of a topic or of other tables: AnyTable and its parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ByteSize, Field, field_validator, model_validator

from frazil.spec.checks import OwnChecks
from frazil.spec.freshness import FreshWithin, refuse_others
from frazil.spec.upkeep import Upkeep
from frazil.spec.values import Duration, Part

THROUGH: dict[str, str] = {"glue": "", "snowflake": "glue", "views": ""}
"""The targets that can show a table, and through which other one each finds it; see `frazil.publishing`."""

_COLUMN = r"[^\s(),`]+"
"""A column, as a schema may name it: `@timestamp` of logs, say."""

_TRANSFORM = re.compile(
    rf"(?P<plain>{_COLUMN})"
    rf"|(?P<time>year|month|day|hour|identity)\((?P<column>{_COLUMN})\)"
    rf"|(?P<sized>bucket|truncate)\((?P<size>\d+),\s*(?P<of>{_COLUMN})\)"
)
_SORT = re.compile(
    rf"(?P<column>{_COLUMN})(?:\s+(?P<way>asc|desc))?(?:\s+nulls\s+(?P<nulls>first|last))?", re.IGNORECASE
)
_ZORDER = re.compile(rf"zorder\((?P<columns>{_COLUMN}(?:\s*,\s*{_COLUMN})+)\)", re.IGNORECASE)
_COMMA = "; quote what holds a comma"

_OWNER = re.compile(r"team:.+|[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,7}")  # Dagster's rule
_TAG_KEY = re.compile(r"([A-Za-z0-9_.-]{1,63}/)?[A-Za-z0-9_.-]{1,63}")
_TAG_VALUE = re.compile(r"[A-Za-z0-9_.-]{0,63}")


def _reachable(owners: tuple[str, ...]) -> tuple[str, ...]:
    for owner in owners:
        if not _OWNER.fullmatch(owner):
            raise ValueError(f"{owner!r}: write team:name, or an e-mail address")
    return owners


Owners = Annotated[tuple[str, ...], AfterValidator(_reachable)]
"""Who to ask: `team:name`, or e-mail addresses."""


def _policy(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][\w$]*(\.[A-Za-z_][\w$]*){2}", name, re.ASCII):
        raise ValueError(f"{name!r}: write DATABASE.SCHEMA.NAME of a policy in Snowflake")
    return name


class Write(Part):
    """How data files are written. A change holds for new files, and for old ones once rewritten."""

    target_file_size: ByteSize = Field(
        ByteSize(128 * 2**20), ge=1, description="Size that data files should have."
    )
    row_group_size: ByteSize = Field(ByteSize(128 * 2**20), ge=1, description="Size of a row group at most.")
    page_size: ByteSize = Field(ByteSize(2**20), ge=1, description="Size of a page at most.")
    compression: Literal["zstd", "snappy", "gzip", "lz4", "uncompressed"] = Field(
        "zstd", description="Codec of data files."
    )
    compression_level: int | None = Field(
        None,
        ge=1,
        le=22,
        description="Level of zstd: 1 is the quickest. Default: 3, and 1 for columns as small by it.",
    )
    delete: Literal["rewrite", "vector"] | None = Field(
        None,
        description="How rows of a table by key go. rewrite: their files are rewritten. vector: of a "
        "large file that loses few rows a deletion vector says which; needs format_version: 3, see "
        "docs/format-v3.md. Default: vector with format_version: 3, else rewrite.",
    )
    distribution: Literal["none", "hash", "range"] = Field(
        "none", description="Shuffle rows before writing. hash: by partition. range: by the sort order."
    )

    @property
    def sorts(self) -> bool:
        """Whether rows are shuffled and sorted before they are written."""
        return self.distribution != "none"

    @model_validator(mode="after")
    def _levelled(self) -> Self:
        if self.compression_level is not None and self.compression != "zstd":
            raise ValueError(f"compression_level is a level of zstd; {self.compression} has none here")
        return self


class SortTerm(Part):
    """One term of a sort order: a column, or several on a z-order curve."""

    columns: tuple[str, ...]
    zorder: bool = False
    ascending: bool = True
    nulls_first: bool = True


def _sort_term(text: str) -> SortTerm:
    """Reads `column [asc|desc] [nulls first|last]`, or `zorder(a, b)`; nulls are least, as in Spark."""
    if curve := _ZORDER.fullmatch(text.strip()):
        return SortTerm(columns=tuple(c.strip() for c in curve["columns"].split(",")), zorder=True)
    plain = _SORT.fullmatch(text.strip())
    if plain is None:
        raise ValueError(
            f"{text!r} is no sort term; write column [asc|desc] [nulls first|last] or zorder(a, b)"
        )
    ascending = (plain["way"] or "asc").lower() == "asc"
    nulls_first = plain["nulls"].lower() == "first" if plain["nulls"] else ascending
    return SortTerm(columns=(plain["column"],), ascending=ascending, nulls_first=nulls_first)


class AnyTable(Part):
    """A table that Frazil fills, keeps in order and shows."""

    connection: str = Field("", description="One of the profile's `connections`. Default: the pipeline's.")
    namespace: str | None = Field(
        None, description="Namespace of the table. Default: the name of the Kafka cluster."
    )
    table: str | None = Field(
        None,
        description="Name of the table. Default: the topic's name in lower case, with _ for other signs.",
    )

    partition_by: tuple[str, ...] = Field(
        (),
        description="Partitions, as Iceberg transforms such as day($$timestamp) or bucket(16, address.city).",
    )
    sort_by: tuple[str, ...] = Field(
        (), description="Order of rows in rewritten files, such as [symbol, price desc] or [zorder(a, b)]."
    )
    write: Write = Field(default_factory=Write, description="How data files are written.")
    format_version: Literal[2, 3] = Field(
        2,
        description="Iceberg's format version of a new table, see docs/format-v3.md. 3: rows have ids "
        "that stay, and fewer engines read it. A table that is there keeps its version.",
    )
    upkeep: Upkeep = Field(default_factory=Upkeep, description="When the table is put in order.")

    freshness: Duration | None = Field(
        None,
        description="How long records may wait before the check `freshness` fails. A quiet topic is never "
        "late.",
    )
    fresh_within: FreshWithin = Field(
        default_factory=dict,
        description="How far each layer may be behind the one before it: {iceberg: 1m, glue: 2m, "
        "snowflake: {warn: 5m, error: 1h}}. It judges only; how often is landed says `freshness`.",
    )
    publish: tuple[str, ...] = Field(
        ("glue", "snowflake"),
        description="Where the table is shown: glue, or glue and snowflake. views: as Iceberg views in the "
        "REST catalog, see docs/views.md. [] is nowhere.",
        json_schema_extra={"items": {"enum": list(THROUGH)}},
    )
    views: Mapping[str, Path] = Field(
        default_factory=dict,
        description="Iceberg views of your own, by the end of their name: {berlin: berlin.sql} is "
        "`<table>_berlin`. Each file has one SELECT in Spark's SQL, beside defs.yaml. See docs/views.md.",
    )

    checks: OwnChecks = Field(
        (), description="What must hold of the rows that come, before anyone sees them; each by a name."
    )

    foreign_commits: Literal["alarm", "restore", "adopt"] = Field(
        "alarm",
        description="If another engine committed to the Glue entry: fail and leave it (alarm), put Frazil's "
        "entry back (restore), or take over the files (adopt).",
    )

    first_rows: int = Field(
        0,
        ge=0,
        le=20,
        description="How many of the newest rows the table's page in Dagster shows. Dagster keeps them "
        "forever. Default: none, for rows may be secret.",
    )
    description: str = Field("", description="A text for people, shown in Dagster.")
    owners: Owners = Field((), description="Who to ask: `team:name`, or e-mail addresses.")
    tags: dict[str, str] = Field(default_factory=dict, description="Tags of the assets.")

    @field_validator("namespace", "table")
    @classmethod
    def _legal(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[a-z0-9_]{1,255}", value):
            raise ValueError(f"{value!r}: use lower-case letters, digits and _ (Glue takes no other)")
        return value

    column_tags: dict[str, dict[str, str]] = Field(
        default_factory=dict,
        description="Tags of the table's columns in Snowflake, by column: {email: {pii: email}}. See "
        "docs/snowflake.md.",
    )
    column_policies: dict[str, Annotated[str, AfterValidator(_policy)]] = Field(
        default_factory=dict,
        description="Masking policies of columns in Snowflake, by column: {email: GOV.POLICIES.EMAIL}.",
    )

    @field_validator("column_tags")
    @classmethod
    def _columns_taggable(cls, value: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        return {column: cls._taggable(tags) for column, tags in value.items()}

    @field_validator("tags")
    @classmethod
    def _taggable(cls, value: dict[str, str]) -> dict[str, str]:
        for key, text in value.items():
            if not (_TAG_KEY.fullmatch(key) and _TAG_VALUE.fullmatch(text)):
                raise ValueError(
                    f"{key}: {text!r}: at most 63 letters, digits, '_', '-' and '.' each "
                    "(Dagster takes no other)"
                )
        return value

    @field_validator("publish")
    @classmethod
    def _findable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for word in value:
            if word not in THROUGH:
                near = get_close_matches(word, THROUGH, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(THROUGH)}"
                raise ValueError(f"there is no target {word!r}; {hint}")
            through = THROUGH[word]
            if through and through not in value:
                raise ValueError(
                    f"{word.capitalize()} finds the table through {through.capitalize()}; "
                    f"write publish: [{through}, {word}]"
                )
        return value

    @field_validator("views")
    @classmethod
    def _ends(cls, value: Mapping[str, Path]) -> Mapping[str, Path]:
        for name in value:
            if not re.fullmatch(r"[a-z0-9][a-z0-9_]*", name):
                raise ValueError(f"{name!r}: use lower-case letters, digits and _")
            if name in ("clean", "current"):
                raise ValueError(f"{name}: Frazil makes the view of that name itself")
        return value

    @model_validator(mode="after")
    def _layers_are_there(self) -> Self:
        refuse_others(self.fresh_within, self.publish)
        if self.views and "views" not in self.publish:
            written = ", ".join((*self.publish, "views"))
            raise ValueError(f"views: no catalog is told of them; write publish: [{written}]")
        return self

    @field_validator("partition_by")
    @classmethod
    def _transforms(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            if not _TRANSFORM.fullmatch(text):
                is_cut = text.count("(") != text.count(")")
                raise ValueError(
                    f"{text!r} is no transform; write a column, year|month|day|hour(column), "
                    f"bucket(n, column) or truncate(n, column){_COMMA if is_cut else ''}"
                )
        return value

    @field_validator("sort_by")
    @classmethod
    def _sortable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(terms := [_sort_term(text) for text in value]) > 1 and any(t.zorder for t in terms):
            raise ValueError("zorder(...) stands alone: it is the whole order")
        return value

    @property
    def is_read_only(self) -> bool:
        """Whether others write the table and keep it in order, and Frazil only reads it."""
        return False

    @property
    def sort_terms(self) -> tuple[SortTerm, ...]:
        """The terms of `sort_by`."""
        return tuple(map(_sort_term, self.sort_by))

    @property
    def transforms(self) -> tuple[tuple[str, str], ...]:
        """`partition_by` as pairs of Iceberg's transform, such as `bucket[16]`, and column."""
        matches = [m for m in map(_TRANSFORM.fullmatch, self.partition_by) if m]
        return tuple(
            (f"{m['sized']}[{m['size']}]", m["of"])
            if m["sized"]
            else (m["time"] or "identity", m["column"] or m["plain"])
            for m in matches
        )
