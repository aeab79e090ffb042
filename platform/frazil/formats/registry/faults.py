"""What the exceptions of the registry's client mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from frazil.errors import (
    MALFORMED,
    STAYS,
    ConfigureError,
    FrazilError,
    MissingError,
    NotAllowedError,
    PartDownError,
)
from frazil.settings.nearby import to_start

if TYPE_CHECKING:
    # Confluent's client brings 0.2 s of libraries: only who talks to a registry imports it.
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.error import SchemaRegistryError

_OF_TLS = ("CERTIFICATE_VERIFY_FAILED", "_ALERT_")
"""What a connection says that ended because one side did not take the other's certificate."""

MISSING = frozenset({40401, 40402, 40403})
"""Subject, version, schema."""


@contextmanager
def registry_errors(client: SchemaRegistryClient, subject: str) -> Iterator[None]:
    """Turns the exceptions of the registry's client into ours."""
    # The client's own choice between httpx and httpx2, whose errors it lets through.
    from confluent_kafka.schema_registry.common._httpx_compat import httpx
    from confluent_kafka.schema_registry.error import OAuthTokenError, SchemaRegistryError

    try:
        yield
    except SchemaRegistryError as e:
        raise _refused(e, address(client), subject) from None
    except OAuthTokenError as e:
        raise _locked_out(address(client), str(e)) from None
    except (httpx.HTTPError, httpx.InvalidURL, *MALFORMED) as e:
        if any(sign in str(e) for sign in _OF_TLS):
            raise _locked_out(address(client), str(e)) from None
        raise _down(address(client), f"{type(e).__name__} {e}") from None


def _refused(error: SchemaRegistryError, address: str, subject: str) -> FrazilError:
    status, text = error.http_status_code, error.error_message
    if error.error_code in MISSING:
        return MissingError(
            f"Subject {subject} does not exist.",
            where=address,
            meaning="Without a schema no record can be read. Nothing was landed.",
            todo="Produce with a schema, or name the schema's file as value_schema in defs.yaml: the next "
            "landing registers it.",
        )
    if status == 401:
        return _locked_out(address, f"HTTP {status}")
    if status == 403:
        return NotAllowedError(
            "The schema registry does not allow it.",
            where=f"subject {subject} at {address}: {text}",
            meaning=STAYS,
            todo="`frazil doctor` says which right is missing.",
        )
    if status >= 500 or status in (404, 408, 429):
        return _down(address, f"HTTP {status}: {text}")
    return ConfigureError(
        f"The schema registry refuses: {text}",
        where=f"subject {subject} at {address}, HTTP {status}, code {error.error_code}",
        todo="Fix what it names; or FRAZIL_REGISTRY__URL, if that is no registry's address.",
    )


def _locked_out(address: str, text: str) -> ConfigureError:
    return ConfigureError(
        "The schema registry gives no access.",
        where=f"{address}: {text}",
        meaning=STAYS,
        todo="Fix FRAZIL_REGISTRY__USER_INFO or another FRAZIL_REGISTRY__..., see docs/connect.md.",
    )


def _down(address: str, text: str) -> PartDownError:
    return PartDownError(
        "The schema registry does not answer.",
        where=f"{address}: {text}",
        meaning=STAYS,
        todo=f"{to_start(address)} Or fix FRAZIL_REGISTRY__URL.",
    )


def address(client: SchemaRegistryClient) -> str:
    """The registry's URLs without the password that one may hold."""
    return ", ".join(url.rpartition("@")[2] for url in client._rest_client.base_urls)
