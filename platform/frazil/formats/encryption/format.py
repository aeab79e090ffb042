"""The format of records whose fields are encrypted: what its columns say of it, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from frazil.errors import SchemaRefusedError
from frazil.formats.encryption.contract import Rule
from frazil.formats.encryption.decoder import NotedDecoder, OpeningDecoder
from frazil.formats.encryption.keys import RuleKeys
from frazil.formats.encryption.leaves import encrypted
from frazil.formats.logical import Field, List, Map, Primitive, Struct, Type, with_fields
from frazil.formats.masks.columns import mask_paths
from frazil.formats.protocol import Decoder, HalfSchemas, SchemaFormat, WriterSchema

OpenKeys = Callable[[WriterSchema, Rule], RuleKeys]
"""Gives the keys of a version's rule; raises ConfigureError where nobody has them."""

KEPT, OPENED = (
    "Encrypted by the schema's rule {}: ciphertext.",
    "Decrypted; rule {} encrypts it in the topic.",
)
"""What a column's comment says of its encryption."""

_SEALABLE = (Primitive("string"), Primitive("binary"))


@dataclass(frozen=True, slots=True)
class EncryptedFields:
    """See `Format`: a format with schemas, of records that hold encrypted fields.

    Args:
        inner: The format as it is.
        open_keys: Where fields are to be opened; else they stay as they are.
    """

    inner: SchemaFormat
    open_keys: OpenKeys | None = None

    def columns(self, schemas: HalfSchemas) -> Struct:
        """See `Format.columns`."""
        columns = self.inner.columns(schemas)
        fields = self._fields(schemas, schemas.writers[-1])
        if misfit := next(self._misfits(columns, fields), None):
            raise _refusal(schemas.subject, *misfit)
        words = OPENED if self.open_keys else KEPT
        notes = {
            _with_comment(columns, path): words.format(", ".join(rule.name for rule in own))
            for path, own in fields.items()
        }
        return Struct(tuple(_noted(columns.fields, notes, "")))

    def decoder(self, schemas: HalfSchemas) -> Decoder:
        """See `Format.decoder`."""
        inner, columns = self.inner.decoder(schemas), self.columns(schemas)
        if self.open_keys is None:
            return NotedDecoder(inner, columns)
        known = {writer.schema_id: writer for writer in schemas.writers}
        opened: dict[int, Mapping[str, tuple[RuleKeys, ...]]] = {}
        for number in inner.writers:
            fields = self._fields(schemas, known[number])
            keys = {rule: self.open_keys(known[number], rule) for own in fields.values() for rule in own}
            opened[number] = {path: tuple(keys[rule] for rule in own) for path, own in fields.items()}
        return OpeningDecoder(inner, columns, opened)

    def _fields(self, schemas: HalfSchemas, writer: WriterSchema) -> Mapping[str, tuple[Rule, ...]]:
        return encrypted(self.inner.leaves(schemas, writer), writer.contract)

    def _misfits(self, columns: Struct, fields: Collection[str]) -> Iterator[tuple[str, str]]:
        """Fields that hold no ciphertext, and why."""
        for path in fields:
            kind = _type_at(columns, path)
            if kind is None:
                if self.open_keys is not None:
                    yield path, "it has no column of its own, so nobody can open it"
            elif kind not in _SEALABLE:
                yield path, f"it is {kind}, and ciphertext is a text or bytes"


def _with_comment(columns: Struct, path: str) -> str:
    """The path of what has a comment: a list and a map have one, and what is in them has none."""
    above, _, _ = path.rpartition(".")
    holder = _type_at(columns, above) if above else None
    return _with_comment(columns, above) if isinstance(holder, List | Map) else path


def _type_at(kind: Type, path: str) -> Type | None:
    """The type at a path, of a list's elements and a map's values too; None where there is none."""
    for field in kind.fields:
        if path == field.name:
            return field.type
        if path.startswith(f"{field.name}.") and (
            inner_kind := _type_at(field.type, path[len(field.name) + 1 :])
        ):
            return inner_kind
    return None


def _noted(fields: Collection[Field], notes: Mapping[str, str], at: str) -> Iterator[Field]:
    for field in fields:
        path = f"{at}{field.name}"
        if note := notes.get(path):
            yield replace(field, doc=f"{field.doc} {note}".strip())
        else:
            yield replace(field, type=_within(field.type, notes, path))


def _within(kind: Type, notes: Mapping[str, str], path: str) -> Type:
    if not mask_paths(notes, path):
        return kind
    return with_fields(kind, _noted(kind.fields, notes, f"{path}."))


def _refusal(subject: str, path: str, why: str) -> SchemaRefusedError:
    return SchemaRefusedError(
        f"A rule of the schema encrypts a field that can't be encrypted: {why}.",
        where=f"subject {subject}, field {path}",
        meaning="Nothing was landed.",
        todo="Take the rule's tag off the field, or make it a text or bytes. Or write encryption: keep, if "
        "only its column is missing.",
        field=path,
    )
