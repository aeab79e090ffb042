"""Conditions of contracts: a record that a consumer of Confluent's does not get is a bad record."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from frazil.errors import ConfigureError
from frazil.formats.logical import Field, Primitive, Struct
from frazil.formats.record import RecordDecoder, decoder_for
from frazil.formats.registry.client import registry_client
from frazil.formats.rules.conditions import condition_of
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.encryption.recorded import KEK, Recorded, recorded
from kit.rules.recorded import answers, framed, payloads, verdicts
from kit.wires.answering import Answering, at_hand

RULE = {"name": "fit", "kind": "CONDITION", "mode": "READ", "type": "CEL", "onFailure": "DLQ"}
KINDS = pytest.mark.parametrize("kind", ["AVRO", "JSON"])


@pytest.fixture
def server() -> Iterator[Answering]:
    with at_hand() as server:
        yield server


def decoder(server: Answering, topic: str = "orders", **more: Any) -> RecordDecoder:
    spec = TableSpec(topic=topic, key_format="none", **{"rules": "enforce", **more})
    return decoder_for(spec, registry_client(Settings(registry={"url": server.url})), {})


def of_rules(server: Answering, *rules: dict[str, Any], kind: str = "AVRO", **more: Any) -> RecordDecoder:
    server.answers = answers("orders", kind, *({**RULE, **rule} for rule in rules))
    return decoder(server, **more)


def landed(records: RecordDecoder, raw: list[bytes]) -> list[bool]:
    empty = pa.array([[]] * len(raw), pa.list_(pa.string()))
    headers = pa.array([[]] * len(raw), pa.list_(pa.binary()))
    nothing = pa.nulls(len(raw), pa.binary())
    sent = pickle.loads(pickle.dumps(records.arrow()))
    return list(sent.decode(nothing, pa.array(raw, pa.binary()), empty, headers).ok.tolist())


@KINDS
def test_the_records_that_land_are_those_that_confluents_consumer_gets(server: Answering, kind: str) -> None:
    raw = framed(kind)

    records = of_rules(server, *({"name": expr, "expr": expr} for expr in verdicts(kind)), kind=kind)
    judging = pickle.loads(pickle.dumps(records.value.arrow()))
    decoded = judging.inner.decode(pa.array(raw, pa.binary()))
    landing = {rule.name: (~failing).tolist() for rule, failing in judging.failing(decoded)}

    assert landing == verdicts(kind)


@KINDS
def test_a_record_that_fails_is_bad_with_the_rules_name_and_what_it_says(
    server: Answering, kind: str
) -> None:
    rules = (
        {"name": "any", "expr": "message.qty < 100"},
        {"name": "some", "expr": "message.qty >= 2", "doc": "Nobody buys one."},
        {"name": "none", "expr": "message.qty > 100", "onFailure": "NONE"},
    )
    records = of_rules(server, *rules, kind=kind)
    raw = framed(kind)

    assert landed(records, raw) == [False, False, False, True, True, True, True, True]
    assert records.explain(None, raw[0], True, False) == (
        "rule:some", "the schema's rule some fails: Nobody buys one."
    )  # fmt: skip
    assert records.values(None, raw[0]) is None
    assert (records.values(None, raw[3]) or {})["qty"] == 2
    assert not records.explain(None, raw[0][:9], True, False)[0].startswith("rule:")
    masked = of_rules(server, *rules, kind=kind, columns={"name": {"mask": "redact"}})
    assert masked.explain(None, raw[0], True, False)[1].endswith("Nobody buys one.")


def test_rules_are_of_the_version_that_a_record_was_written_with_and_of_readers(server: Answering) -> None:
    raw = framed("AVRO")
    as_read = of_rules(server, {"expr": "message.qty > 100", "mode": "WRITE"})
    both = of_rules(server, {"expr": "message.qty > 100", "mode": "WRITEREAD", "onFailure": "DLQ,NONE"})
    strict = of_rules(server, {"expr": "message.qty > 100", "mode": "WRITEREAD", "onFailure": "NONE,ERROR"})
    later = dict(server.answers)
    free = json.loads(later["/subjects/orders-value/versions/1"][2]) | {"version": 2, "id": 8}
    del free["ruleSet"]
    newest = (200, {}, json.dumps(free).encode())
    server.answers = {f"/versions/{name}": newest for name in ("latest", "2")} | later
    server.answers["/subjects/orders-value/versions/latest"] = newest
    server.answers["/subjects/orders-value/versions"] = (200, {}, b"[1, 2]")
    mixed = [raw[0], b"\0\0\0\0\x08" + payloads("AVRO")[0], raw[1]]

    assert all(landed(as_read, raw))
    assert all(landed(both, raw))
    assert not any(landed(strict, raw))
    assert landed(decoder(server), mixed) == [False, True, False]


def test_without_being_asked_a_rule_changes_nothing_and_is_named(server: Answering) -> None:
    instead = [{"name": "some", "expect": "qty > -2"}]
    ignored = of_rules(server, {"expr": "has(message.qty)"}, rules="ignore", checks=instead)

    assert all(landed(ignored, framed("AVRO")))
    assert ignored.unasked == ("fit (CEL)",)
    assert of_rules(server, {"expr": "message.qty > 1"}).unasked == ()


@pytest.mark.parametrize(
    ("kind", "rule", "why"),
    [
        ("AVRO", {"expr": "has(message.qty)"}, "has of whole is not known"),
        ("AVRO", {"expr": "message.qty / 2 > 1"}, "not understood at '/ 2 > 1'"),
        ("AVRO", {"expr": "message.tags.all(t, t != '')"}, "t is not known"),
        ("AVRO", {"expr": "message.quantity > 1"}, "there is no column quantity"),
        ("AVRO", {"expr": "message.qty == '1'"}, "it compares whole with text"),
        ("AVRO", {"expr": "message.qty + 1.5 > 2.0"}, "[+] of whole, double is not known"),
        ("AVRO", {"expr": "message.qty"}, "it is whole, not true or false"),
        ("AVRO", {"expr": "message.qty > "}, "it ends too early"),
        ("AVRO", {"expr": "(" * 60 + "true" + ")" * 60}, "it is too deep"),
        ("AVRO", {"expr": "!" * 9_000 + "true"}, "it is too deep"),
        ("AVRO", {"expr": ""}, "it ends too early"),
        ("AVRO", {"expr": "value != ''", "type": "CEL_FIELD"}, "only rules of type CEL"),
        ("AVRO", {"expr": "message.qty + 1", "kind": "TRANSFORM"}, "only rules of type CEL"),
        ("JSON", {"expr": "message.currency != 'EUR'"}, "a record may lack currency"),
        ("JSON", {"expr": "!(message.note == 'EUR')"}, "a record may lack note"),
        ("JSON", {"expr": "message.currency == 'EUR' ; message.qty > 1"}, "a record may lack currency"),
        ("JSON", {"expr": "message.back == null"}, "a record may lack back"),
    ],
)  # fmt: skip
def test_what_columns_do_not_tell_as_cel_does_is_refused(
    server: Answering, kind: str, rule: dict[str, Any], why: str
) -> None:
    with pytest.raises(ConfigureError, match=f"Rule fit .* of the schema can't be asked: .*{why}") as raised:
        of_rules(server, rule, kind=kind)

    assert "subject orders-value, version 1" in raised.value.where


def test_truth_values_are_asked_as_cel_has_them() -> None:
    columns = Struct((Field("on", Primitive("boolean"), optional=True),))
    rows = pa.array([True, False, None])

    def passing(text: str) -> list[bool]:
        from frazil.expressions.arrow import Rows

        root = condition_of(text, columns, may_lack=False).root
        return list(Rows({"on": rows}, 3, 0).flags(root).fill_null(False).to_pylist())

    assert passing("message.on") == [True, False, False]
    assert passing("!message.on") == [False, True, False]
    assert passing("message.on != true") == [False, True, True]
    assert passing("message.on || true") == [True, True, True]


def test_encrypted_fields_are_opened_before_rules_are_asked(server: Answering) -> None:
    case = recorded()["avro_aes256_gcm"]
    asked = {**RULE, "mode": "WRITEREAD", "expr": "message.email.startsWith('ann3')"}
    encrypting = case.schema["ruleSet"]["domainRules"]
    settings = Settings(registry={"url": server.url}, named_keys={KEK: case.secret})

    def opened(rules: list[dict[str, Any]], encryption: str) -> RecordDecoder:
        server.answers = Recorded(
            {**case.case, "schema": {**case.schema, "ruleSet": {"domainRules": rules}}}
        ).answers()
        spec = TableSpec(topic=case.case["name"], key_format="none", rules="enforce", encryption=encryption)
        return decoder_for(spec, registry_client(settings), {})

    records = opened([asked, *encrypting], "decrypt")

    assert landed(records, case.bytes) == [number == 3 for number in range(len(case.bytes))]
    assert (records.columns.masks or {})["email"] == "decrypted"
    with pytest.raises(ConfigureError, match="it stands behind rule hide_pii, so it is asked of ciphertext"):
        opened([*encrypting, asked], "decrypt")
    with pytest.raises(ConfigureError, match="write encryption: decrypt, too"):
        opened([asked, *encrypting], "keep")
