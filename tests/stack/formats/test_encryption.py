"""Topics whose fields Confluent's clients encrypted land as ciphertext, or opened in Spark's tasks."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from frazil.checks.run import run_check, run_values
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.doctor.probe import Patient
from frazil.doctor.run import examine
from frazil.errors import SchemaRefusedError
from frazil.landing.land import land
from frazil.settings.identity import aws_session
from kit.encryption.recorded import KEK, recorded
from kit.records.topics import MakeTopic, Topic, topic_maker
from kit.runs.waiting import PATIENCE
from kit.wires.answering import Server, serving

CASE = recorded()["avro_aes256_gcm_turning"]
OPENED = {"encryption": "decrypt", "on_bad_record": "dead_letter"}
CONDITION = {"name": "adult", "kind": "CONDITION", "mode": "READ", "type": "CEL", "expr": "message.id > 0"}


@pytest.fixture
def registry() -> Iterator[Server]:
    """One that keeps rules and keys, as Confluent's does and Apicurio does not."""
    with serving() as server:
        server.answers = CASE.answers()
        yield server


@pytest.fixture
def make_topic(lake: Connections, registry: Server, fresh_name: str) -> MakeTopic:
    keys = {KEK: SecretStr(CASE.secret)}
    settings = lake.settings.with_changes(registry={"url": registry.url}, named_keys=keys)
    return topic_maker(Clients(settings), fresh_name, "encryption_tests")


def people(make_topic: MakeTopic, **spec: Any) -> Topic:
    return make_topic(trades=False, key_format="none", value_subject=CASE.subject, **spec)


def shown(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (r["id"], r["email"], r["scan"], r["note"], r["card"], r["home"]["phone"], r["names"],
         dict(r["by_year"]), [each["phone"] for each in r["others"]])
        for r in rows
    ]  # fmt: skip


WANTED = [
    (v["id"], v["email"], base64.b64decode(v["scan"]), v["note"], v["card"], v["home"]["phone"], v["names"],
     v["by_year"], [each["phone"] for each in v["others"]])
    for v in CASE.values
]  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("distribution", ["none", "hash"])
def test_fields_are_opened_in_tasks_and_what_no_key_opens_is_a_dead_letter(
    make_topic: MakeTopic, distribution: str
) -> None:
    topic = people(
        make_topic, write={"distribution": distribution}, partition_by=["bucket(2, city)"], **OPENED
    )
    topic.send([*CASE.bytes, CASE.bytes[0][:40] + b"AAAA" + CASE.bytes[0][44:]])

    report = land(topic.spec, topic.connections)

    assert (report.records, report.dead_letters) == (8, 1)
    assert sorted(shown(topic.rows())) == WANTED
    name = topic.things.table.dead_letters.identifier
    (letter,) = topic.connections.catalog.load_table(name).scan().to_arrow().to_pylist()
    assert letter["reason_code"] == "encrypted_field"
    assert "rule hide_p" in letter["reason"]
    assert "example.com" not in str(letter)
    looks = [run_check(each, topic.spec, topic.connections) for each in ("row_count_deep", "schema")]
    assert [look.text for look in looks if not look.passed] == []
    assert run_values(topic.spec, topic.connections, 10).passed


@pytest.mark.nightly
def test_ciphertext_is_kept_and_opening_it_later_waits_for_a_migration(
    make_topic: MakeTopic, registry: Server
) -> None:
    topic = people(make_topic)
    registry.answers = {path: a for path, a in CASE.answers().items() if "dek-registry" not in path}
    topic.send(CASE.bytes[:1])
    land(topic.spec, topic.connections)
    (row,) = topic.rows()
    table = topic.connections.catalog.load_table(topic.things.table.identifier)
    assert base64.b64decode(row["email"], validate=True)
    assert table.schema().find_field("email").doc == "Encrypted by the schema's rule hide_pii: ciphertext."
    assert run_values(topic.spec, topic.connections, 10).passed

    registry.answers = CASE.answers()
    topic.send(CASE.bytes[1:2])
    later = topic.spec.model_validate({**topic.spec.model_dump(by_alias=True), "encryption": "decrypt"})
    with pytest.raises(SchemaRefusedError) as caught:
        land(later, topic.connections)
    assert "mask: {column: email, to: decrypted}" in caught.value.todo
    paths = ["email", "scan", "note", "card", "home.phone", "others.element.phone", "names.element",
             "by_year.value", "either.string", "either.bytes"]  # fmt: skip
    lines = [{"id": f"open-{n}", "mask": {"column": p, "to": "decrypted"}} for n, p in enumerate(paths)]
    land(later.model_validate({**later.model_dump(by_alias=True), "migrations": lines}), topic.connections)

    assert [r["email"] for r in topic.rows()] == [row["email"], "ann1@example.com"]
    table = topic.connections.catalog.load_table(topic.things.table.identifier)
    assert table.schema().find_field("email").doc == "Decrypted; rule hide_pii encrypts it in the topic."


def test_a_key_at_aws_opens_them_and_the_doctor_says_where_it_does_not(
    make_topic: MakeTopic, registry: Server
) -> None:
    topic = people(make_topic, **OPENED)
    settings = topic.connections.settings
    aws = settings.aws.model_copy(update={"endpoint": settings.glue.endpoint})
    clients = Clients(settings.model_copy(update={"aws": aws, "named_keys": {}}))
    kms = aws_session(aws).create_client("kms")
    arn = kms.create_key()["KeyMetadata"]["Arn"]
    answers = CASE.answers()
    at_aws = {**CASE.case["kek"], "kmsType": "aws-kms", "kmsKeyId": arn}
    for dek in CASE.case["deks"]:
        sealed = kms.encrypt(KeyId=arn, Plaintext=base64.b64decode(dek["keyMaterial"]))["CiphertextBlob"]
        given = {k: v for k, v in dek.items() if k != "keyMaterial"}
        given |= {"encryptedKeyMaterial": base64.b64encode(sealed).decode()}
        path = f"/dek-registry/v1/keks/{KEK}/deks/{CASE.subject}/versions/{dek['version']}"
        answers[path] = (200, {}, json.dumps(given).encode())
    answers[f"/dek-registry/v1/keks/{KEK}?"] = (200, {}, json.dumps(at_aws).encode())
    registry.answers = answers
    topic.send(CASE.bytes)

    land(topic.spec, clients)
    asked = {each.right: each for each in examine(Patient([topic.spec], clients), ("registry",), PATIENCE)}
    at_aws["kmsKeyId"] = arn[:-1] + ("0" if arn[-1] != "0" else "1")
    registry.answers[f"/dek-registry/v1/keks/{KEK}?"] = (200, {}, json.dumps(at_aws).encode())
    refused = {each.right: each for each in examine(Patient([topic.spec], clients), ("registry",), PATIENCE)}

    assert shown(topic.rows()) == WANTED
    assert asked["open the keys of fields"].status == "ok"
    assert refused["open the keys of fields"].status == "missing"
    assert "AWS KMS says" in refused["open the keys of fields"].what


def test_rules_that_nobody_asks_are_named_wherever_the_table_is_looked_at(
    make_topic: MakeTopic, registry: Server
) -> None:
    topic = people(make_topic)
    rules = {"domainRules": [*CASE.schema["ruleSet"]["domainRules"], CONDITION]}
    altered = type(CASE)({**CASE.case, "schema": {**CASE.schema, "ruleSet": rules}})
    registry.answers = altered.answers()
    topic.send(CASE.bytes[:1])

    report = land(topic.spec, topic.connections)
    (finding,) = examine(Patient([topic.spec], topic.connections), ("registry",), PATIENCE)

    assert report.unasked == ("adult (CEL)",)
    assert (
        "Its rules adult (CEL) are for readers, and nobody asks them"
        in run_check("schema", topic.spec, topic.connections).text
    )
    assert (finding.status, "adult (CEL)" in finding.what) == ("unproven", True)


@pytest.mark.nightly
def test_a_record_that_fails_a_rule_is_a_dead_letter_with_the_rules_name(
    make_topic: MakeTopic, registry: Server
) -> None:
    topic = people(make_topic, rules="enforce", **OPENED)
    asked = {
        **CONDITION,
        "expr": "message.email.endsWith('@example.com') && message.id != 3",
        "doc": "No three.",
    }
    rules = {"domainRules": [asked, *CASE.schema["ruleSet"]["domainRules"]]}
    registry.answers = type(CASE)({**CASE.case, "schema": {**CASE.schema, "ruleSet": rules}}).answers()
    topic.send(CASE.bytes)

    report = land(topic.spec, topic.connections)
    asked_for = {
        each.right: each
        for each in examine(Patient([topic.spec], topic.connections), ("registry",), PATIENCE)
    }

    assert (report.records, report.dead_letters, report.unasked) == (7, 1, ())
    assert shown(topic.rows()) == [wanted for wanted in WANTED if wanted[0] != 3]
    name = topic.things.table.dead_letters.identifier
    (letter,) = topic.connections.catalog.load_table(name).scan().to_arrow().to_pylist()
    assert (letter["reason_code"], letter["reason"]) == (
        "rule:adult",
        "the schema's rule adult fails: No three.",
    )
    assert [each.status for each in asked_for.values()] == ["ok"] * 3
    assert asked_for.keys() == {"read the subject", "open the keys of fields", "ask the rules of schemas"}
    assert run_values(topic.spec, topic.connections, 10).passed
