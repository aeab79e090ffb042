"""Every record of a topic beside every row of its table, judged by a program that shares no code.

The program is `frazil_verify`. It is a process; what it has to know goes to its standard input, secrets too.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from frazil.checks.result import Subject, Verdict
from frazil.errors import ConfigureError, FaultError, MissingError
from frazil.formats.columns.columns import names_by_word, rest_field
from frazil.formats.kinds import PLAIN_FORMATS
from frazil.formats.masks.guard import Masks
from frazil.formats.registry.subjects import subject_versions
from frazil.kafka.clients import client_config
from frazil.landing.upsert.key import key_columns
from frazil.settings.identity import aws_session, keys_of_now
from frazil.settings.profile import Settings
from frazil.settings.secret import revealed
from frazil.spec.names import record_subject, subject_name
from frazil.spec.topic import TableSpec

_SECONDS = 24 * 3600
_NAMED = 3  # findings, in a check's sentence
_NUMBERS = ("records", "rows", "bad_records", "uncompared_records", "unverifiable_rows", "expired_rows")
_SOUND, _UNSOUND, _UNVERIFIABLE = range(3)

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verified:
    """What the verifier said of one table.

    Args:
        document: Its report; `{"unverifiable": why}` where nothing could be said.
    """

    table: str
    document: Mapping[str, Any]

    @property
    def unverifiable(self) -> str:
        """Why nothing could be said; empty where something was."""
        return str(self.document.get("unverifiable", ""))

    @property
    def is_sound(self) -> bool:
        """Whether every record has its row, and every row its record."""
        return bool(self.document.get("sound"))


def verify(subject: Subject[TableSpec]) -> Verified:
    """Compares all records that a table holds with all of its rows.

    Raises:
        FaultError: The verifier ended by itself, or not within a day.
    """
    table = str(subject.things.table)
    if why := unknown(subject.spec, subject.connections.settings):
        return Verified(table, {"unverifiable": why})
    return Verified(table, _judged(request(subject), table))


def judge_rows(subject: Subject[TableSpec]) -> Verdict:
    """Whether each record has its row and each row its record, all values.

    Raises:
        FaultError: The verifier ended by itself, or not within a day.
    """
    try:
        verified = verify(subject)
    except ConfigureError as e:
        return Verdict.skip(e.what.rstrip("."))
    if verified.unverifiable:
        return Verdict.skip(f"it can't be verified: {verified.unverifiable}")
    document = verified.document
    numbers = {name: document[name] for name in _NUMBERS}
    return Verdict(verified.is_sound, _sentence(document), {**numbers, **document["counts"]})


def _sentence(document: Mapping[str, Any]) -> str:
    compared = f"{document['records']} records were compared with {document['rows']} rows, all values"
    unknown = document["not_compared"]
    if unknown:
        compared += f", but those of {', '.join(sorted(unknown))}"
    findings = [f"{count} {kind}" for kind, count in document["counts"].items()]
    places = [_place(sample) for sample in document["samples"][:_NAMED]]
    return f"{compared}: {', '.join(findings) or 'they agree'}." + "".join(f" {each}." for each in places)


def _place(sample: Mapping[str, Any]) -> str:
    if sample["partition"] < 0:
        return f"{sample['kind']}: {sample['text']}"
    columns = f" ({', '.join(sample['columns'])})" if sample["columns"] else ""
    return f"{sample['kind']}: partition {sample['partition']}, offset {sample['offset']}{columns}"


def request(subject: Subject[TableSpec]) -> Document:
    """What the verifier has to know; it holds secrets.

    Raises:
        NotYetError: There is no such table.
    """
    spec, settings, table = subject.spec, subject.connections.settings, subject.handle.load()
    letters, own = subject.handle.dead_letters.load_or_none(), names_by_word(spec)
    return {
        "topic": spec.topic,
        "kafka": kafka_config(settings),
        "registry": registry_access(settings),
        "storage": _storage(settings),
        "metadata": table.metadata_location,
        "dead_letters": letters.metadata_location if letters is not None else "",
        "mode": spec.mode,
        "key": _half(subject, "key"),
        "value": _half(subject, "value"),
        "key_columns": [name for name in key_columns(table) if name not in own.values()],
        "metadata_columns": own,
        "null_value": spec.on_null_value,
        "keeps_deleted": spec.keeps_deleted,
        "keeps_versions": spec.keeps_versions,
        "order_by": spec.order_by,
        "where": spec.where,
        "masks": _masks(spec, settings),
        "mask_migrations": {m.id: m.mask.column for m in spec.migrations if m.mask},
        "max_record_bytes": settings.spark.max_record_bytes,
    }


def _masks(spec: TableSpec, settings: Settings) -> Document:
    """The masks of fields by path, with the keys of hashes; raises ConfigureError where one is missing."""
    keys = Masks.of(spec, settings.named_keys).keys
    return {
        path: {"word": mask.word, "key": keys[path].decode() if path in keys else ""}
        for path, mask in spec.masks.items()
    }


def unknown(spec: TableSpec, settings: Settings) -> str:
    """Why the verifier can say nothing of a table of this kind; empty where it can."""
    if settings.registry.kind != "confluent":
        return {
            "glue": "its schemas are in AWS Glue's registry",
            "azure": "its schemas are in Azure's registry",
        }[settings.registry.kind]
    return next(_reasons(spec), "")


def _reasons(spec: TableSpec) -> Iterator[str]:
    if spec.is_read_only:
        yield "Tableflow writes it"
    if spec.encryption == "decrypt":
        yield "its fields are decrypted"
    if spec.rules == "enforce":
        yield "rules of its schemas make records bad that can be read"
    if any(check.on_failure == "dead_letter" for check in spec.checks):
        yield "its own checks make dead letters of records that can be read"


def _judged(asked: Document, table: str) -> Mapping[str, Any]:
    try:
        done = subprocess.run(
            [sys.executable, "-m", "frazil_verify"],
            input=json.dumps(asked), capture_output=True, text=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise FaultError(f"The verifier did not end within {_SECONDS} s.", where=f"table {table}") from None
    if done.returncode not in (_SOUND, _UNSOUND, _UNVERIFIABLE) or not done.stdout:
        raise FaultError("The verifier failed.", where=f"table {table}; {_last_line(done.stderr)}")
    document: Mapping[str, Any] = json.loads(done.stdout)
    return document


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


def _half(subject: Subject[TableSpec], word: Literal["key", "value"]) -> Document:
    spec = subject.spec
    wanted = spec.key_format if word == "key" else spec.value_format
    if spec.fields and word == "value":
        return _listed(spec)
    if wanted in PLAIN_FORMATS:
        return {"format": wanted}
    name = subject_name(spec, word)
    if word == "key" and wanted == "auto" and not _has_subject(subject, name):
        return {"format": "bytes"}
    record_type = (spec.record_type or "") if word == "value" else ""
    others = [record_subject(spec, each) for each in spec.other_types] if word == "value" else []
    return {
        "format": "registry", "framing": spec.framing, "subject": name, "record_type": record_type,
        "eight_byte_ids": subject.connections.settings.registry.eight_byte_ids, "others": others,
        "of_database": spec.mode == "cdc", "strict": spec.validation == "strict",
    }  # fmt: skip


def _listed(spec: TableSpec) -> Document:
    rest = rest_field(spec)
    return {
        "format": "json",
        "fields": [
            {
                "name": f.name, "path": f.steps, "type": f.type, "optional": f.optional,
                "millis": f.unit == "millis",
            }
            for f in spec.fields
        ],
        "rest": rest.name if rest else "",
    }  # fmt: skip


def _has_subject(subject: Subject[TableSpec], name: str) -> bool:
    try:
        return bool(subject_versions(subject.connections.registry, name))
    except MissingError:
        return False


def kafka_config(settings: Settings) -> Document:
    """What the verifier's consumer is told; raises ConfigureError where it is not text alone."""
    config = client_config(settings)
    if callbacks := [name for name, value in config.items() if callable(value)]:
        raise ConfigureError(
            f"The verifier can't log in to Kafka by {', '.join(callbacks)}.",
            meaning="Nothing was compared.",
            todo="Give it a login of SASL or TLS, by another profile.",
        )
    return config


def registry_access(settings: Settings) -> Document:
    """Where the verifier finds schemas, and how it logs in there."""
    registry = settings.registry
    user, _, password = (revealed(registry.user_info) or "").partition(":")
    ca = str(registry.ca or "")
    return {"url": str(registry.url), "user": user, "password": password, "ca": ca}


def _storage(settings: Settings) -> Document:
    keys = keys_of_now(aws_session(settings.aws))
    return {
        "endpoint": settings.s3_endpoint or "",
        "ca": str(settings.s3.ca or ""),
        "region": settings.aws.region or "",
        "access_key": keys.access_key,
        "secret_key": keys.secret_key,
        "session_token": keys.token or "",
    }
