"""The keys of encrypted fields: a registry keeps them, encrypted by a key service, which opens them.

Source: Confluent's API `/dek-registry/v1`. A KEK is the service's key, a DEK that of a subject's fields.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from frazil.errors import ConfigureError
from frazil.formats.encryption.contract import Contract, Rule
from frazil.formats.encryption.keys import ALGORITHMS, FIRST, RuleKeys, key_bytes
from frazil.formats.registry.faults import address, registry_errors

if TYPE_CHECKING:
    from frazil.formats.registry.client import RegistryClient

_KEK, _ALGORITHM, _DAYS = "encrypt.kek.name", "encrypt.dek.algorithm", "encrypt.dek.expiry.days"
_NOT_LANDED = "No field was decrypted, and nothing was landed."


def rule_keys(client: RegistryClient, subject: str, contract: Contract, rule: Rule) -> RuleKeys:
    """The keys of a rule for the fields of a subject, opened.

    Raises:
        ConfigureError: The registry, or the key service, does not have or give them.
        PartDownError: One of them does not answer.
    """
    name = contract.parameter(rule, _KEK)
    algorithm = contract.parameter(rule, _ALGORITHM) or "AES256_GCM"
    turns = contract.parameter(rule, _DAYS) not in ("", "0")
    if not name or algorithm not in ALGORITHMS:
        why = f"algorithm {algorithm} is not known" if name else f"no {_KEK} is given"
        raise _no_keys(client, rule, subject, why)
    kek = _asked(client, subject, rule, f"keks/{quote(name, safe='')}", f"KEK {name}")
    within = f"keks/{quote(name, safe='')}/deks/{quote(subject, safe='')}/versions"
    versions = [FIRST]
    if turns:
        versions = _asked(client, subject, rule, within, f"keys of {subject}", algorithm)
    keys = {}
    for version in versions:
        what = f"version {version} of the key of {subject}"
        dek = _asked(client, subject, rule, f"{within}/{version}", what, algorithm)
        try:
            keys[int(version)] = key_bytes(_material(client, name, kek, dek), algorithm)
        except (KeyError, TypeError, ValueError) as e:
            raise _no_keys(client, rule, subject, f"{what}: {e!s:.200}") from None
    return RuleKeys(rule.name, algorithm, keys, turns)


def _material(client: RegistryClient, name: str, kek: Mapping[str, Any], dek: Mapping[str, Any]) -> bytes:
    """A key as it is; of a shared KEK the registry opens it by itself."""
    if plain := dek.get("keyMaterial"):
        return base64.b64decode(plain)
    sealed = base64.b64decode(dek["encryptedKeyMaterial"])
    return client.key_service.opened(name, str(kek["kmsType"]), str(kek["kmsKeyId"]), sealed)


def _asked(
    client: RegistryClient, subject: str, rule: Rule, path: str, what: str, algorithm: str = ""
) -> Any:
    """The registry's answer; keys that were deleted softly are among them."""
    from confluent_kafka.schema_registry.error import SchemaRegistryError

    query = {"deleted": "true", **({"algorithm": algorithm} if algorithm else {})}
    with registry_errors(client, subject):
        try:
            return client._rest_client.get(f"/dek-registry/v1/{path}", query)
        except SchemaRegistryError as e:
            if e.http_status_code != 404:
                raise
    raise _no_keys(client, rule, subject, f"it has no {what}")


def _no_keys(client: RegistryClient, rule: Rule, subject: str, why: str) -> ConfigureError:
    return ConfigureError(
        f"The registry gives no key for the fields that rule {rule.name} encrypts.",
        where=f"subject {subject} at {address(client)}: {why}",
        meaning=_NOT_LANDED,
        todo="Fix the rule, or its keys in the registry; or write encryption: keep: the ciphertext lands.",
    )
