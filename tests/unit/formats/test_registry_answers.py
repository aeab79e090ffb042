"""What is no answer of a registry is told as such, with its address."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from frazil.errors import ConfigureError, DifferentError, PartDownError, SchemaRefusedError
from frazil.formats.record import decoder_for
from frazil.formats.registry.client import RegistryClient, registry_client
from frazil.formats.registry.subjects import owners, subject_versions
from frazil.formats.registry.wanted import WantedSchema, version_like
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.wires.answering import Server, serving

GOOD = {"subject": "t-value", "version": 1, "id": 7, "schema": '"int"', "schemaType": "AVRO"}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def client(server: Server) -> RegistryClient:
    return registry_client(Settings(registry={"url": server.url}))


@pytest.mark.parametrize(
    ("version", "versions"),
    [
        (None, [1]),
        ([], [1]),
        ({**GOOD, "subject": {"a": 1}}, [1]),
        ({**GOOD, "id": "seven"}, [1]),
        ({**GOOD, "schema": 7}, [1]),
        (GOOD, []),
        (GOOD, [[1]]),
        (GOOD, None),
    ],
)
def test_a_body_of_another_shape_is_no_schema(
    server: Server, client: RegistryClient, version: Any, versions: Any
) -> None:
    server.answers = {
        "versions/latest": (200, {}, json.dumps(version).encode()),
        "versions/1": (200, {}, json.dumps(version).encode()),
        "versions": (200, {}, json.dumps(versions).encode()),
    }

    with pytest.raises(PartDownError) as raised:
        subject_versions(client, "t-value")

    assert server.url.removeprefix("http://") in raised.value.where


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirection_is_told_as_such_and_not_followed(
    server: Server, client: RegistryClient, status: int
) -> None:
    server.answers = {
        "versions/latest": (status, {"Location": "https://me:secret@login.example/in?to=x"}, b"")
    }

    with pytest.raises(ConfigureError, match=f"leads elsewhere .HTTP {status}.") as raised:
        subject_versions(client, "t-value")

    assert "https://login.example/in" in raised.value.where
    assert "secret" not in str(raised.value)
    assert "FRAZIL_REGISTRY__URL" in (raised.value.todo or "")


def test_all_versions_of_a_subject_that_is_deleted_softly_are_read(
    server: Server, client: RegistryClient
) -> None:
    second = {**GOOD, "version": 2, "id": 8}
    server.answers = {
        "versions/2?deleted=true": (200, {}, json.dumps(second).encode()),
        "versions/1?deleted=true": (200, {}, json.dumps(GOOD).encode()),
        "versions?deleted=true": (200, {}, b"[1, 2]"),
    }

    versions = subject_versions(client, "t-value")

    assert [(version.schema_id, version.is_deleted) for version in versions] == [(7, True), (8, True)]


def test_the_newest_version_that_is_not_deleted_is_the_last_one(
    server: Server, client: RegistryClient
) -> None:
    second = {**GOOD, "version": 2, "id": 8}
    server.answers = {
        "versions/latest": (200, {}, json.dumps(GOOD).encode()),
        "versions/2?deleted=true": (200, {}, json.dumps(second).encode()),
        "versions/1?deleted=true": (200, {}, json.dumps(GOOD).encode()),
        "versions?deleted=true": (200, {}, b"[1, 2]"),
        "versions?": (200, {}, b"[1]"),
    }

    versions = subject_versions(client, "t-value")

    assert [(version.schema_id, version.is_deleted) for version in versions] == [(8, True), (7, False)]


REFERS = {
    **GOOD,
    "schema": json.dumps({"type": "record", "name": "R", "fields": [{"name": "v", "type": "Venue"}]}),
    "references": [{"name": "Venue", "subject": "venue", "version": 1}],
}


def test_an_older_version_whose_reference_is_gone_is_unreadable_and_the_others_are_read(
    server: Server, client: RegistryClient
) -> None:
    """A registry lets go what only versions refer to that were deleted softly."""
    text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}]})
    newest = {**GOOD, "version": 2, "id": 8, "schema": text}
    server.answers = {
        "t-value/versions/latest": (200, {}, json.dumps(newest).encode()),
        "t-value/versions/2": (200, {}, json.dumps(newest).encode()),
        "t-value/versions/1": (200, {}, json.dumps(REFERS).encode()),
        "t-value/versions?deleted=true": (200, {}, b"[1, 2]"),
        "t-value/versions?": (200, {}, b"[2]"),
    }

    decoder = decoder_for(TableSpec(topic="t", key_format="none"), client, {})

    code, why = decoder.value.explain(b"\0\0\0\0\x07\x08XETR")
    assert code == "unreadable_schema"
    assert "type Venue is defined nowhere" in why
    assert decoder.values(None, b"\0\0\0\0\x08\x02") == {"n": 1}


@pytest.mark.parametrize("half", ["key", "value"])
def test_a_newest_version_whose_reference_is_gone_is_refused_and_no_key_becomes_bytes(
    server: Server, client: RegistryClient, half: str
) -> None:
    versions: dict[str, tuple[int, dict[str, str], bytes]] = {}
    for word in ("key", "value"):
        body = json.dumps(REFERS if word == half else {**GOOD, "schema": BARE}).encode()
        versions[f"t-{word}/versions/"] = (200, {}, body)
        versions[f"t-{word}/versions"] = (200, {}, b"[1]")
    server.answers = versions

    with pytest.raises(SchemaRefusedError, match="type Venue is defined nowhere") as told_of:
        decoder_for(TableSpec(topic="t"), client, {})

    assert f"t-{half}" in str(told_of.value)


BARE = json.dumps({"type": "record", "name": "B", "fields": [{"name": "b", "type": "int"}]})


def test_a_refusal_without_a_reason_of_its_own_is_mended_by_the_registrys_address(server: Server) -> None:
    refused_all = {"error_code": 400, "message": "no such API here"}
    server.answers = {"/subjects": (400, {}, json.dumps(refused_all).encode())}
    with pytest.raises(ConfigureError, match="no such API here") as refused:
        subject_versions(registry_client(Settings(registry={"url": server.url})), "t-value")

    with serving() as other:
        other.answers = {"versions/": (200, {}, json.dumps(GOOD).encode()), "versions": (200, {}, b"[1]")}
        (version,) = subject_versions(registry_client(Settings(registry={"url": other.url})), "t-value")

    assert "FRAZIL_REGISTRY__URL" in refused.value.todo
    assert server.url.removeprefix("http://") in refused.value.where
    assert version.schema_id == GOOD["id"]


@pytest.mark.parametrize("registers", [False, True])
def test_a_spec_whose_schema_differs_is_as_the_registry_says_or_the_registry_as_it_says(
    server: Server, client: RegistryClient, registers: bool
) -> None:
    """A record is there, and a number is wanted."""
    one, two = ({**GOOD, "version": n, "id": n, "schema": text} for n, text in ((1, BARE), (2, '"long"')))
    server.answers = {"versions/": (200, {}, json.dumps(one).encode()), "versions": (200, {}, b"[1]")}
    wanted = WantedSchema("AVRO", '"long"', "v.avsc")
    with pytest.raises(DifferentError, match="holds another schema") as refused:
        version_like(client, "t-value", wanted)

    if registers:
        server.answers = {
            "versions/1": (200, {}, json.dumps(one).encode()),
            "versions/": (200, {}, json.dumps(two).encode()),
            "versions": (200, {}, b"[1, 2]"),
        }
    else:
        wanted = replace(wanted, text=subject_versions(client, "t-value")[-1].text)
    fresh = registry_client(Settings(registry={"url": server.url}))
    version = version_like(fresh, "t-value", wanted)

    assert refused.value.todo.startswith("Make the file the registry's schema, or register the new version")
    assert version
    assert version.version == (2 if registers else 1)


def test_a_registry_as_karapace_tells_whose_an_id_is_and_what_was_deleted(
    server: Server, client: RegistryClient
) -> None:
    """Its answers as its source has them (`karapace/api`, June 2026): no GUID, no type of Avro."""
    no_path, no_subject = (404, {}, b'"Not Found"'), (404, {}, b'{"error_code": 40401, "message": "none"}')
    version = {"subject": "t-value", "version": 2, "id": 7, "schema": '"int"'}
    pairs = [{"subject": "t-value", "version": 2}, {"subject": "copy-value", "version": 1}]
    server.answers = {
        "/schemas/ids/7/subjects": no_path,
        "/schemas/ids/8/subjects": no_path,
        "/schemas/ids/7/versions": (200, {}, json.dumps(pairs).encode()),
        "/schemas/ids/8/versions": (200, {}, b"[]"),
        "/versions/latest": no_subject,
        "/versions/2": (200, {}, json.dumps(version).encode()),
        "/versions?deleted=true": (200, {}, b"[2]"),
        "/versions": no_subject,
    }

    (gone,) = subject_versions(client, "t-value")

    assert (gone.schema_id, gone.kind, gone.guid, gone.is_deleted) == (7, "AVRO", "", True)
    assert owners(client, 7) == ("copy-value", "t-value")
    assert owners(client, 8) == ()


@pytest.mark.parametrize("place", ["registry.example", "registry.example/apis/ccompat/v7"])
def test_a_registry_with_tls_must_show_who_it_is_and_one_without_reads_no_authorities(place: str) -> None:
    def trusts(address: str) -> list[ssl.SSLContext]:
        client = registry_client(Settings(registry={"url": address}))
        return [each._rest_client.verify for each in (client, client.apicurio) if each is not None]

    secure, plain = trusts(f"https://{place}"), trusts(f"http://{place}")
    assert [trust.verify_mode for trust in secure] == [ssl.CERT_REQUIRED] * len(secure)
    assert all(trust.check_hostname and trust.get_ca_certs() for trust in secure)
    assert [trust.get_ca_certs() for trust in plain] == [[]] * len(plain)
    assert len(plain) == len(secure) == 1 + ("ccompat" in place)
