"""How to get into Kafka, in the words of librdkafka and of Java's clients.

Certificates are handed over as text: Spark's executors need no file.
Sources: librdkafka's CONFIGURATION.md; KIP-651 (PEM), KIP-768 (OAuth's client credentials); Amazon's signers
for MSK, aws-msk-iam-sasl-signer-python and aws-msk-iam-auth.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from frazil.settings.files import file_text
from frazil.settings.identity import aws_session, keys_of_now
from frazil.settings.refusals import aws_refusal
from frazil.settings.secret import revealed
from frazil.settings.systems.aws import AwsSettings
from frazil.settings.systems.kafka import KafkaSettings

_SECURITY = "org.apache.kafka.common.security"
_MODULES = {
    "PLAIN": f"{_SECURITY}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_SECURITY}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_SECURITY}.scram.ScramLoginModule",
    "OAUTHBEARER": f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule",
    "AWS_MSK_IAM": "software.amazon.msk.auth.iam.IAMLoginModule",
}
_BY_TOKEN = "OAUTHBEARER"  # noqa: S105  # the mechanism's name
_BY_IAM = "AWS_MSK_IAM"

_Token = Callable[[str], tuple[str, float]]
"""What librdkafka asks for a token, and the second since the epoch when it ends."""

_session = lru_cache(maxsize=8)(aws_session)
"""One for all clients of an identity: each of its own would take on the role anew."""


def librdkafka_access(access: KafkaSettings, aws: AwsSettings) -> dict[str, Any]:
    """For librdkafka's clients; nothing where Kafka is open to all."""
    options = {
        "ssl.ca.pem": _text(access.ca),
        "ssl.certificate.pem": _text(access.certificate),
        "ssl.key.pem": _text(access.key),
        "ssl.key.password": revealed(access.key_password),
        "sasl.mechanism": _BY_TOKEN if access.mechanism == _BY_IAM else access.mechanism,
        "sasl.username": revealed(access.username),
        "sasl.password": revealed(access.password),
    }
    if access.mechanism == _BY_TOKEN:
        options |= {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": access.token_url,
            "sasl.oauthbearer.client.id": access.client_id,
            "sasl.oauthbearer.client.secret": revealed(access.client_secret),
            "sasl.oauthbearer.scope": access.scope,
        }
    given: dict[str, Any] = _given(access, options)
    return given | {"oauth_cb": _msk_token(aws)} if access.mechanism == _BY_IAM else given


def _msk_token(aws: AwsSettings) -> _Token:
    """Makes tokens for MSK of the identity's keys, as librdkafka needs them; the first now.

    librdkafka would say that a token is missing, and not why. Raises ConfigureError where AWS gives no keys.
    """
    from aws_msk_iam_sasl_signer.MSKAuthTokenProvider import generate_auth_token_from_credentials_provider
    from botocore.credentials import CredentialProvider, Credentials
    from botocore.exceptions import BotoCoreError, ClientError

    session = _session(aws)

    class Keys(CredentialProvider):  # type: ignore[misc]  # botocore has no types
        def load(self) -> Credentials:
            return Credentials(*keys_of_now(session))

    def token(_: str) -> tuple[str, float]:
        text, milliseconds = generate_auth_token_from_credentials_provider(aws.region, Keys())
        return text, milliseconds / 1000

    try:
        token("")
    except (BotoCoreError, ClientError) as e:
        raise aws_refusal(e) or e from None
    return token


def java_access(access: KafkaSettings, aws: AwsSettings) -> dict[str, str]:
    """For Java's clients, which Spark's are; nothing where Kafka is open to all."""
    options = {
        "ssl.truststore.type": "PEM" if access.ca else None,
        "ssl.truststore.certificates": _text(access.ca),
        "ssl.keystore.type": "PEM" if access.certificate else None,
        "ssl.keystore.certificate.chain": _text(access.certificate),
        "ssl.keystore.key": _text(access.key),
        "ssl.key.password": revealed(access.key_password),
        "sasl.mechanism": access.mechanism,
        "sasl.jaas.config": _login(access, aws),
    }
    if access.mechanism == _BY_TOKEN:
        options |= {
            "sasl.oauthbearer.token.endpoint.url": access.token_url,
            "sasl.login.callback.handler.class": f"{_SECURITY}.oauthbearer.OAuthBearerLoginCallbackHandler",
        }
    if access.mechanism == _BY_IAM:
        options["sasl.client.callback.handler.class"] = (
            "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
        )
    return _given(access, options)


def _login(access: KafkaSettings, aws: AwsSettings) -> str | None:
    """The line of JAAS: a module of Java, and what it is told."""
    if not access.mechanism:
        return None
    if access.mechanism == _BY_TOKEN:
        parts = {
            "clientId": access.client_id,
            "clientSecret": revealed(access.client_secret),
            "scope": access.scope,
        }
    elif access.mechanism == _BY_IAM:
        parts = _role(aws)
    else:
        parts = {"username": revealed(access.username), "password": revealed(access.password)}
    words = " ".join(f"{name}={_quoted(value)}" for name, value in parts.items() if value)
    return f"{_MODULES[access.mechanism]} required {words};"


def _role(aws: AwsSettings) -> dict[str, str | None]:
    """The identity, as the executors' own signer is told of it; keys it takes from their environment only."""
    if not aws.role_arn:
        return {"awsProfileName": aws.profile}
    return {
        "awsRoleArn": aws.role_arn,
        "awsRoleSessionName": aws.session_name,
        "awsRoleExternalId": revealed(aws.external_id),
        "awsStsRegion": aws.region,
        "awsRoleAccessKeyId": revealed(aws.access_key),
        "awsRoleSecretAccessKey": revealed(aws.secret_key),
        "awsRoleSessionToken": revealed(aws.session_token),
    }


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _given(access: KafkaSettings, options: dict[str, str | None]) -> dict[str, str]:
    options_set = {name: value for name, value in options.items() if value}
    return {"security.protocol": access.protocol, **options_set} if access.protocol != "PLAINTEXT" else {}


def _text(file: Path | None) -> str | None:
    if file is None:
        return None
    todo = "Fix the settings FRAZIL_KAFKA__CA, FRAZIL_KAFKA__CERTIFICATE or FRAZIL_KAFKA__KEY."
    return file_text(file, "A certificate or its key", "PEM", todo)
