"""Fields that Confluent's serializers encrypted: as they came, or opened by keys of a registry."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pydantic import SecretStr

from frazil.errors import ConfigureError, NotAllowedError, PartDownError, SchemaRefusedError
from frazil.exact import rows_of
from frazil.formats.bare import differences
from frazil.formats.encryption.keys import RuleKeys, SealedError, opened_value
from frazil.formats.logical import find
from frazil.formats.record import RecordDecoder, decoder_for, topic_columns
from frazil.formats.registry.client import registry_client
from frazil.formats.registry.key_service import KeyService
from frazil.settings.profile import Settings
from frazil.settings.systems.aws import AwsSettings
from frazil.spec.topic import TableSpec
from kit.encryption.recorded import KEK, Recorded, recorded
from kit.wires.answering import Server, serving

CASES = pytest.mark.parametrize("case", list(recorded().values()), ids=list(recorded()))


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def decoder(server: Server, case: Recorded, **more: Any) -> RecordDecoder:
    secret = more.pop("secret", case.secret)
    settings = Settings(registry={"url": server.url}, named_keys={KEK: secret} if secret else {})
    of_type = {"record_type": "org.people.Person"} if case.case["kind"] == "PROTOBUF" else {}
    spec = TableSpec(topic=case.case["name"], key_format="none", **of_type, **more)
    return decoder_for(spec, registry_client(settings), {})


def landed(records: RecordDecoder, raw: list[bytes]) -> tuple[list[dict[str, Any]], list[bool]]:
    empty = pa.array([[]] * len(raw), pa.list_(pa.string()))
    values = pa.array([[]] * len(raw), pa.list_(pa.binary()))
    nothing = pa.nulls(len(raw), pa.binary())
    verdicts = records.arrow().decode(nothing, pa.array(raw, pa.binary()), empty, values)
    return rows_of(pa.RecordBatch.from_struct_array(verdicts.value.data)), verdicts.ok.tolist()


def plain(value: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """A producer's record in the form of a row: a union is a struct of its branches."""
    given = {name: value.get(name) for name in row}
    if "scan" in row:
        given["scan"] = base64.b64decode(value["scan"])
        given["by_year"] = list(value["by_year"].items())
    if "either" in row:
        text = value["either"]
        given["either"] = None if text is None else {"string": text, "bytes": None}
    if "contact" in row:
        given["contact"] = {"phone": value.get("phone"), "room": value.get("room")}
    return given


@CASES
def test_a_record_that_is_opened_is_what_its_producer_had(server: Server, case: Recorded) -> None:
    server.answers = case.answers()
    records = decoder(server, case, encryption="decrypt")

    rows, ok = landed(records, case.bytes)

    assert ok == [True] * len(rows)
    assert rows == [plain(value, row) for value, row in zip(case.values, rows, strict=True)]
    for raw, row in zip(case.bytes, rows, strict=True):
        assert list(differences(records.unmasked[1], records.values(None, raw) or {}, row)) == []


@CASES
def test_a_record_that_is_kept_has_ciphertext_and_its_columns_say_so(server: Server, case: Recorded) -> None:
    server.answers = case.answers()
    records = decoder(server, case, secret="")

    rows, ok = landed(records, case.bytes)

    assert ok == [True] * len(rows)
    text = json.dumps(rows, default=repr)
    assert not [value for value in case.values if value["email"] in text or value["card"] in text]
    assert all(row["city"] == "Ulm" for row in rows)
    docs = {own.name: own.doc for own in records.columns.fields}
    assert docs["email"] == docs["names"] == "Encrypted by the schema's rule hide_pii: ciphertext."
    assert docs["card"] == "Encrypted by the schema's rule hide_pci: ciphertext."
    assert docs["city"] == ""


def test_what_tasks_get_is_opened_there_and_no_text_shows_its_keys(server: Server) -> None:
    case = recorded()["avro_aes256_gcm_turning"]
    server.answers = case.answers()
    records = decoder(server, case, encryption="decrypt")

    sent = pickle.loads(pickle.dumps(records.arrow()))

    raw = pa.array(case.bytes, pa.binary())
    assert (
        rows_of(pa.RecordBatch.from_struct_array(sent.value.decode(raw).data))[7]["email"]
        == "ann7@example.com"
    )
    keys = next(own["email"][0] for own in sent.value.fields.values())
    assert set(keys.keys) == {1, 2, 3}
    shown = f"{sent!r} {records!r} {keys!r}"
    assert not [key for key in keys.keys.values() if key.hex() in shown or repr(key)[2:-1] in shown]


def test_a_field_that_no_key_opens_makes_a_bad_record_with_the_rules_name(server: Server) -> None:
    case = recorded()["avro_aes256_gcm"]
    server.answers = case.answers()
    records = decoder(server, case, encryption="decrypt")
    raw = bytearray(case.bytes[0])
    at = bytes(raw).index(b"=", 20) - 3 if b"=" in raw else 12
    raw[at] = ord("A") if raw[at] != ord("A") else ord("B")

    _, ok = landed(records, [bytes(raw), case.bytes[1]])
    code, why = records.explain(None, bytes(raw), True, False)

    assert ok == [False, True]
    assert code == "encrypted_field"
    assert "rule hide_p" in why
    assert "example.com" not in why


@pytest.mark.parametrize(
    ("broken", "error", "says"),
    [
        ({"secret": ""}, ConfigureError, "the profile has no key people-kek"),
        ({"secret": "another secret"}, ConfigureError, "the secret does not open it"),
        ({"without": f"/keks/{KEK}/deks"}, ConfigureError, "it has no version 1 of the key"),
        ({"without": f"/keks/{KEK}"}, ConfigureError, "it has no KEK people-kek"),
        ({"kms": "azure-kms"}, ConfigureError, "azure-kms is no key service that Frazil knows"),
        ({"kms": "hcvault", "id": "http://vault.example.com/transit/keys/k"}, ConfigureError, "is not https"),
        (
            {"kms": "hcvault", "id": "https://127.0.0.1:9/transit/keys/k"},
            ConfigureError,
            "no key 127.0.0.1:9",
        ),
        ({"down": True}, PartDownError, "HTTP 503"),
        ({"denied": True}, NotAllowedError, "does not allow"),
    ],
)
def test_keys_that_are_not_there_or_not_given_are_told(
    server: Server, broken: dict[str, Any], error: type[Exception], says: str
) -> None:
    case = recorded()["avro_aes256_gcm"]
    answers = case.answers()
    if without := broken.get("without"):
        answers = {path: answer for path, answer in answers.items() if without not in path}
    if "kms" in broken:
        kek = {**case.case["kek"], "kmsType": broken["kms"], "kmsKeyId": broken.get("id", "k")}
        answers[f"/dek-registry/v1/keks/{KEK}?"] = (200, {}, json.dumps(kek).encode())
    for word, status in (("down", 503), ("denied", 403)):
        if word in broken:
            answers = {"/dek-registry": (status, {}, b'{"error_code": 50001, "message": "no"}'), **answers}
    server.answers = answers

    with pytest.raises(error) as raised:
        decoder(
            server, case, encryption="decrypt", **({"secret": broken["secret"]} if "secret" in broken else {})
        )

    assert says in str(raised.value)
    assert case.secret not in str(raised.value)
    server.answers = {path: each for path, each in answers.items() if "dek-registry" not in path}
    assert decoder(server, case, secret="").columns.fields  # encryption: keep
    server.answers = case.answers()
    assert landed(decoder(server, case, encryption="decrypt"), case.bytes)[1] == [True] * 8


def test_a_key_of_a_shared_kek_comes_opened_from_the_registry(server: Server) -> None:
    case = recorded()["avro_aes256_gcm"]
    (dek,) = case.case["deks"]
    shared = {name: part for name, part in dek.items() if name != "encryptedKeyMaterial"}
    path = f"/dek-registry/v1/keks/{KEK}/deks/{case.subject}/versions/1"
    server.answers = {**case.answers(), path: (200, {}, json.dumps(shared).encode())}

    rows, _ = landed(decoder(server, case, encryption="decrypt", secret=""), case.bytes)

    assert rows[0]["email"] == "ann0@example.com"


def test_vault_opens_a_key_for_a_token_that_its_own_host_alone_is_sent(server: Server) -> None:
    material, asked = b"\x1a\x20" + bytes(32), []
    answer = server.answer

    def noted(path: str, headers: Any) -> Any:
        asked.append((path, headers.get("X-Vault-Token")))
        return answer(path, headers)

    server.answer = noted  # type: ignore[method-assign]
    plain = {"data": {"plaintext": base64.b64encode(material).decode()}}
    server.answers = {"/v1/transit/decrypt/people": (200, {}, json.dumps(plain).encode())}
    host = server.url.removeprefix("http://")
    service = KeyService({host: SecretStr("a token"), "kek": SecretStr("no token")})

    opened = service.opened("kek", "hcvault", f"{server.url}/transit/keys/people", b"vault:v1:abc")
    with pytest.raises(ConfigureError, match="can't be opened") as raised:
        service.opened("kek", "hcvault", f"{server.url}/transit/keys/strangers", b"vault:v1:abc")
    with pytest.raises(ConfigureError, match="can't be opened"):
        service.opened("kek", "hcvault", "https://elsewhere.example.com/transit/keys/people", b"vault:v1:abc")

    assert opened == material
    assert asked == [("/v1/transit/decrypt/people", "a token"), ("/v1/transit/decrypt/strangers", "a token")]
    assert "HTTP 404" in raised.value.where
    assert "a token" not in f"{raised.value} {service!r}"


def test_aws_says_no_and_then_opens_a_key(server: Server) -> None:
    aws = AwsSettings(
        endpoint=server.url, region="eu-central-1", access_key=SecretStr("a"), secret_key=SecretStr("b")
    )
    service, arn = KeyService(aws=aws), "arn:aws:kms:eu-central-1:123456789012:key/0a1b"

    def opened() -> bytes:
        return service.opened("kek", "aws-kms", arn, b"sealed")

    def says(status: int, **document: str) -> None:
        server.answers = {"TrentService.Decrypt": (status, {}, json.dumps(document).encode())}

    says(400, __type="AccessDeniedException", message="kms:Decrypt is missing")
    with pytest.raises(NotAllowedError, match="does not let Frazil open") as denied:
        opened()
    says(400, __type="NotFoundException", message="no such key")
    with pytest.raises(ConfigureError, match="can't be opened") as missing:
        opened()
    with pytest.raises(PartDownError, match="AWS KMS does not answer"):
        KeyService(aws=aws.model_copy(update={"endpoint": "http://127.0.0.1:9"})).opened(
            "k", "aws-kms", arn, b""
        )
    says(200, Plaintext=base64.b64encode(b"a key").decode(), KeyId=arn)

    assert opened() == b"a key"
    assert "Allow kms:Decrypt on that key" in denied.value.todo
    assert "AWS KMS says NotFoundException" in missing.value.where


def test_a_field_of_a_type_that_holds_no_ciphertext_refuses_the_schema(server: Server) -> None:
    case = recorded()["avro_aes256_gcm"]
    text = json.loads(case.schema["schema"])
    text["fields"][0]["confluent:tags"] = ["PII"]
    altered = Recorded({**case.case, "schema": {**case.schema, "schema": json.dumps(text)}})
    server.answers = altered.answers()

    with pytest.raises(SchemaRefusedError, match="it is int, and ciphertext is a text or bytes") as raised:
        decoder(server, altered)

    assert "field id" in raised.value.where
    server.answers = case.answers()
    assert all(landed(decoder(server, case), case.bytes)[1])


def test_a_rule_that_encrypts_payloads_is_refused_and_one_that_nobody_asks_is_named(server: Server) -> None:
    case = recorded()["avro_aes256_gcm"]
    rule = {
        "name": "adult",
        "kind": "CONDITION",
        "mode": "WRITEREAD",
        "type": "CEL",
        "expr": "message.id > 0",
    }
    written = {**rule, "name": "by_writers", "mode": "WRITE"}
    asked = {"domainRules": [*case.schema["ruleSet"]["domainRules"], rule, written]}
    payload = {**rule, "name": "all", "kind": "TRANSFORM", "type": "ENCRYPT_PAYLOAD"}
    of_rules = Recorded({**case.case, "schema": {**case.schema, "ruleSet": asked}})
    sealed = Recorded({**case.case, "schema": {**case.schema, "ruleSet": {"encodingRules": [payload]}}})

    server.answers = of_rules.answers()
    assert decoder(server, of_rules).unasked == ("adult (CEL)",)
    server.answers = sealed.answers()
    with pytest.raises(ConfigureError, match="Rule all of the schema encrypts whole payloads"):
        decoder(server, sealed)
    rows, _ = landed(decoder(server, sealed, value_format="bytes"), sealed.bytes)
    assert [row["value"] for row in rows] == sealed.bytes


def test_a_decrypted_field_that_is_masked_is_masked_as_it_was_before_it_was_encrypted(server: Server) -> None:
    case = recorded()["avro_aes256_gcm"]
    server.answers = case.answers()
    records = decoder(
        server, case, encryption="decrypt", columns={"card": {"mask": "last4"}, "email": {"drop": True}}
    )

    rows, _ = landed(records, case.bytes)

    assert [row["card"] for row in rows[:2]] == ["****0000", "****0001"]
    assert "email" not in rows[0]
    marks = records.columns.masks or {}
    assert (marks["card"], marks["home.phone"]) == ("last4 decrypted", "decrypted")
    assert "email" not in marks


def test_columns_are_known_without_any_key(server: Server) -> None:
    case = recorded()["protobuf_aes256_siv"]
    server.answers = {path: answer for path, answer in case.answers().items() if "dek-registry" not in path}
    spec = TableSpec(
        topic=case.case["name"], key_format="none", encryption="decrypt", record_type="org.people.Person"
    )

    columns = topic_columns(spec, registry_client(Settings(registry={"url": server.url})))

    own = find(columns.value, "contact.phone")
    assert own is not None
    assert own.doc == "Decrypted; rule hide_pii encrypts it in the topic."


@pytest.mark.parametrize("sealed", ["", "no base64!", "QUJD", "A" * 64])
def test_text_that_nobody_encrypted_is_not_taken_for_plain_text(sealed: str) -> None:
    keys = RuleKeys("hide", "AES256_GCM", {1: bytes(32)}, turns=True)

    with pytest.raises(SealedError):
        opened_value(sealed, (keys,))


@pytest.mark.parametrize(
    "more", [{"framing": "none"}, {"fields": [{"name": "a", "type": "int"}], "value_format": "json"}]
)
def test_fields_are_opened_only_where_records_name_their_schema(more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="encryption: decrypt needs schema ids"):
        TableSpec(topic="t", encryption="decrypt", **more)
    with pytest.raises(ValueError, match="rules: enforce needs schema ids"):
        TableSpec(topic="t", rules="enforce", **more)
