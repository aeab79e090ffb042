"""The format of records that their schema's contract judges: `rules: enforce`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from frazil.errors import ConfigureError
from frazil.formats.bare import Bare
from frazil.formats.checks.binding import bound
from frazil.formats.encryption.contract import Rule
from frazil.formats.encryption.decoder import NotedDecoder
from frazil.formats.logical import Struct
from frazil.formats.protocol import ArrowDecoder, Decoder, Format, HalfSchemas, Reason, WriterSchema
from frazil.formats.rules.batch import RULE, Condition, JudgingColumns
from frazil.formats.rules.conditions import condition_of

_READ = ("AVRO", "JSON")


@dataclass(frozen=True, slots=True)
class JudgedRecords:
    """See `Format`: a format of records, some of which are bad by what they say.

    Args:
        inner: The format as it is.
        opens: Whether encrypted fields are opened before.
    """

    inner: Format
    opens: bool = False

    def columns(self, schemas: HalfSchemas) -> Struct:
        """See `Format.columns`."""
        return self.inner.columns(schemas)

    def decoder(self, schemas: HalfSchemas) -> Decoder:
        """See `Format.decoder`; raises ConfigureError where a rule can't be asked."""
        inner = self.inner.decoder(schemas)
        known = {writer.schema_id: writer for writer in schemas.writers}
        by_place = {
            place: tuple(self._conditions(schemas, known[number], inner.columns))
            for place, number in enumerate(inner.writers)
        }
        return JudgingDecoder(inner, {place: own for place, own in by_place.items() if own})

    def _conditions(self, schemas: HalfSchemas, writer: WriterSchema, columns: Struct) -> Iterator[Condition]:
        for rule in writer.contract.for_readers:
            try:
                condition = self._condition(rule, writer, columns)
            except ValueError as e:
                raise _refusal(schemas.subject, writer, rule, str(e)) from None
            if not rule.spares:
                yield condition

    def _condition(self, rule: Rule, writer: WriterSchema, columns: Struct) -> Condition:
        """Raises ValueError where a rule can't be asked, and says why."""
        if (rule.type.upper(), rule.kind) != ("CEL", "CONDITION"):
            raise ValueError("only rules of type CEL and of kind CONDITION are known")
        if writer.kind not in _READ:
            raise ValueError("of Protobuf's records columns don't tell what CEL sees")
        if writer.contract.encrypting and not self.opens:
            raise ValueError("the schema has encrypted fields; write encryption: decrypt, too")
        _follow(rule, writer.contract.rules)
        asked = condition_of(rule.expr, columns, may_lack=writer.kind == "JSON")
        return Condition(rule.name, rule.doc or rule.expr, bound(asked, columns.fields))


class JudgingDecoder(NotedDecoder):
    """A decoder to which a record is bad that fails a rule.

    Args:
        conditions: By the place of a version among the decoder's writers.
    """

    def __init__(self, inner: Decoder, conditions: Mapping[int, tuple[Condition, ...]]) -> None:
        super().__init__(inner, inner.columns)
        self._conditions = conditions

    def arrow(self) -> ArrowDecoder:
        """See `Decoder.arrow`."""
        inner = self.inner.arrow()
        return JudgingColumns(inner, self._conditions) if self._conditions else inner

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`."""
        if failed := next(self._failed(raw), None):
            return f"{RULE}{failed.name}", f"the schema's rule {failed.name} fails: {failed.words}"
        return self.inner.explain(raw)

    def values(self, raw: bytes) -> Bare | None:
        """See `Decoder.values`."""
        return None if next(self._failed(raw), None) else self.inner.values(raw)

    def _failed(self, raw: bytes) -> Iterator[Condition]:
        import pyarrow as pa

        judging = JudgingColumns(self.inner.arrow(), self._conditions)
        decoded = judging.inner.decode(pa.array([raw], pa.binary()))
        return (condition for condition, failing in judging.failing(decoded) if failing[0])


def _follow(rule: Rule, rules: tuple[Rule, ...]) -> None:
    """Refuses a rule that a writer follows on ciphertext: readers follow them in the other order."""
    before = rules[: rules.index(rule)]
    if sealing := next((each.name for each in before if each.encrypts), ""):
        raise ValueError(f"it stands behind rule {sealing}, so it is asked of ciphertext")


def _refusal(subject: str, writer: WriterSchema, rule: Rule, why: str) -> ConfigureError:
    return ConfigureError(
        f"Rule {rule.title} of the schema can't be asked: {why}.",
        where=f"subject {subject}, version {writer.version}: {rule.expr:.200}",
        meaning="Nothing was landed.",
        todo="Write rules: ignore, and what must hold as checks (docs/checks.md).",
    )
