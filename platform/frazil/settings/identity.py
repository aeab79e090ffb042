"""The identity at AWS as a session of botocore."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frazil.settings.files import file_text
from frazil.settings.secret import revealed
from frazil.settings.systems.aws import AwsSettings

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials
    from botocore.session import Session

_SECONDS = 10


def aws_session(aws: AwsSettings) -> Session:
    """A session of botocore. Keys of a role are taken anew before they end."""
    from botocore.credentials import CredentialResolver

    known = _session(aws, aws.profile)
    if aws.access_key:
        known.set_credentials(revealed(aws.access_key), revealed(aws.secret_key), revealed(aws.session_token))
    if not aws.role_arn:
        return known
    taken = _session(aws)
    taken.register_component("credential_provider", CredentialResolver([_Role(known, aws)]))
    return taken


def _session(aws: AwsSettings, profile: str | None = None) -> Session:
    from botocore.config import Config
    from botocore.session import Session

    session = Session(profile=profile)
    session.set_config_variable("region", aws.region)
    session.register_component("data_loader", _loader(session.get_config_variable("data_path")))
    if aws.endpoint:
        session.get_component("config_store").set_config_variable("endpoint_url", aws.endpoint)
    session.set_default_client_config(Config(connect_timeout=_SECONDS, read_timeout=_SECONDS))
    return session


@cache
def _loader(path: str | None) -> Any:
    """Reads the models of AWS' services, once for all sessions: IAM's takes a quarter of a second."""
    from botocore.loaders import create_loader

    return create_loader(path)


def keys_of_now(session: Session) -> ReadOnlyCredentials:
    """The keys of a session, renewed where they are about to end."""
    from botocore.exceptions import NoCredentialsError

    credentials = session.get_credentials()
    if credentials is None:
        raise NoCredentialsError
    return credentials.get_frozen_credentials()


class _Role:
    """A provider of credentials, in botocore's sense: those of a role that an identity takes on."""

    METHOD = "frazil-role"

    def __init__(self, known: Session, aws: AwsSettings) -> None:
        self._known, self._aws = known, aws

    def load(self) -> Any:
        """Credentials that are asked for when first used, and anew before they end."""
        from botocore.credentials import DeferredRefreshableCredentials

        return DeferredRefreshableCredentials(self._fetch, self.METHOD)

    def _fetch(self) -> Any:
        from botocore.credentials import (
            AssumeRoleCredentialFetcher,
            AssumeRoleWithWebIdentityCredentialFetcher,
        )

        ask, role = self._known.create_client, self._aws.role_arn
        options = {"RoleSessionName": self._aws.session_name}
        if self._aws.web_identity_token_file:
            by_token = AssumeRoleWithWebIdentityCredentialFetcher(ask, self._token, role, options)
            return by_token.fetch_credentials()
        keys_of_now(self._known)  # raises where there are none
        if self._aws.external_id:
            options["ExternalId"] = self._aws.external_id.get_secret_value()
        by_keys = AssumeRoleCredentialFetcher(ask, self._known.get_credentials(), role, options)
        return by_keys.fetch_credentials()

    def _token(self) -> str:
        file = self._aws.web_identity_token_file or Path()
        what, todo = "The token that takes on a role of AWS", "Fix FRAZIL_AWS__WEB_IDENTITY_TOKEN_FILE."
        return file_text(file, what, "token", todo)
