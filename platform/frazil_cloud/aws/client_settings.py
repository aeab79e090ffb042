"""How Kafka clients of a deployment are set up, read from AWS as the source systems' clients read it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from frazil.errors import ClientSettingsError
from frazil_cloud.aws.client import Aws, GoneError
from frazil_cloud.aws.parameters import parameters
from frazil_cloud.resource import NotYet
from frazil_cloud.spec.names import Names

_KAFKA = ("sasl.username", "sasl.password", "bootstrap.servers")
_REGISTRY = ("schema.registry.url", "schema.registry.basic.auth.user.info")


def client_settings(aws: Aws, names: Names, client: Literal["consumer", "producer"]) -> dict[str, str]:
    """The settings of a client: Kafka's secret, the registry's, and the parameters; what comes later wins.

    Args:
        aws: Credentials that may read them.
        names: Of the deployment.
        client: Which one.

    Raises:
        ClientSettingsError: They can't be read. Its kind is missing_field, io, no_secret_string,
            no_secret_value, secret_not_found, invalid_request, invalid_parameters or prefix_not_found.
    """
    kafka = names.secret("app_consumer" if client == "consumer" else "app_producer")
    client_values = _secret(aws, kafka, _KAFKA) | _secret(aws, names.secret("schema_registry"), _REGISTRY)
    path = f"{names.parameters}/{client}_kafka_client"
    with _aws_errors(path):
        from_store = parameters(aws, path)
    if not from_store:
        raise _error("prefix_not_found", path, "Parameter Store has nothing below this path.")
    client_values |= {name.rpartition("/")[2]: _plain(value) for name, value in from_store.items()}
    return client_values


def _secret(aws: Aws, name: str, needed: tuple[str, ...]) -> dict[str, str]:
    try:
        with _aws_errors(name):
            answer = aws.client("secretsmanager").get_secret_value(SecretId=name)
    except GoneError as e:
        kind = "no_secret_value" if "staging label" in str(e) else "secret_not_found"
        raise _error(
            kind, name, "The secret has no value." if "label" in str(e) else "There is no secret."
        ) from None
    values = _values(name, answer)
    if missing := [each for each in needed if each not in values]:
        raise _error("missing_field", name, f"The secret lacks {', '.join(missing)}.")
    return values


def _values(name: str, answer: Mapping[str, Any]) -> dict[str, str]:
    text = answer.get("SecretString")
    if text is None:
        raise _error("no_secret_string", name, "The secret holds bytes, not a text.")
    try:
        return {str(key): _plain(str(value)) for key, value in json.loads(text).items()}
    except (ValueError, AttributeError):
        raise _error("missing_field", name, "The secret is no JSON object.") from None


def _plain(value: str) -> str:
    """A number as clients write it: without zeros before it, and without a plus."""
    return str(int(value)) if value.lstrip("+-").isdecimal() and value.isascii() else value


@contextmanager
def _aws_errors(where: str) -> Iterator[None]:
    from botocore.exceptions import ClientError, ParamValidationError

    try:
        yield
    except NotYet as e:
        raise _error("io", where, f"AWS does not answer: {e}.", "Try again.") from None
    except ParamValidationError as e:
        raise _error("invalid_parameters", where, str(e)) from None
    except ClientError as e:
        code = e.response["Error"]["Code"]
        kind = "invalid_request" if code == "InvalidRequestException" else "invalid_parameters"
        raise _error(kind, where, str(e)) from None


def _error(
    kind: str, where: str, what: str, todo: str = "Run `frazil deploy create` to fix it."
) -> ClientSettingsError:
    return ClientSettingsError(kind, what, where=where, meaning="No client was made.", todo=todo)
