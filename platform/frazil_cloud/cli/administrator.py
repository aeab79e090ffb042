"""Who makes a deployment, and with which numbers: the arguments, and what is wrong with them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import ValidationError
from typer._click.exceptions import UsageError
from typer.core import TyperCommand

from frazil.cli.console import console
from frazil.errors import ConfigureError
from frazil.pipelines.folder import load_pipelines
from frazil.settings.profile import Settings, variable
from frazil.settings.reference import is_reference
from frazil.telemetry.logs import LOGGERS, JsonLines
from frazil_cloud.identities import OF_WHO_WORKS, identities_in
from frazil_cloud.spec.deployment import DeploymentSpec
from frazil_cloud.spec.folders import Deployment, Deployments, load_deployments

BAD_ARGUMENTS = 85
"""Exit code that the scripts had for them."""

Profile = Annotated[str | None, typer.Option(help="A profile of AWS's own files (SSO).")]
ApiKey = Annotated[str | None, typer.Option(help="Confluent's Cloud API key, or where it is kept: env:NAME.")]
ApiSecret = Annotated[
    str | None, typer.Option(help="The secret of that key, or where it is kept: env:NAME, file:PATH.")
]
AdminSecret = Annotated[
    str | None,
    typer.Option("--admin-service-user-secrets-root-path", help="The secret with Snowflake's administrator."),
]
DayCount = Annotated[int | None, typer.Option(min=1, help="Age in days at which keys are replaced.")]
OffsetReset = Annotated[Literal["earliest", "latest"] | None, typer.Option(help="Where consumers start.")]
KeysKept = Annotated[
    int | None,
    typer.Option(
        "--number-of-api-keys-to-retain", min=2, help="How many API keys for one use work at the same time."
    ),
]
Warehouse = Annotated[
    str | None, typer.Option("--snowflake-warehouse", help="Another name for the warehouse.")
]


class DeployCommand(TyperCommand):
    """Ends with 85 where an argument is wrong."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Reads the arguments."""
        with _bad_arguments():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        with _bad_arguments():
            return super().invoke(ctx)


@contextmanager
def _bad_arguments() -> Iterator[None]:
    try:
        yield
    except UsageError as e:
        e.exit_code = BAD_ARGUMENTS
        raise


@dataclass(frozen=True, slots=True)
class Arguments:
    """What is told beside the settings and the deployment's file, and is stronger than they."""

    profile: str | None = None
    api_key: str | None = None
    api_secret: str | None = None
    admin_secret: str | None = None
    day_count: int | None = None
    offset_reset: Literal["earliest", "latest"] | None = None
    keys_kept: int | None = None
    warehouse: str | None = None

    def settings(self) -> Settings:
        """The settings of the profile in force, with those that are told here."""
        if self.api_secret and not is_reference(self.api_secret):
            console.print(
                "--confluent-api-secret: others on this machine see it in the list of processes. "
                "Better: env:NAME, or FRAZIL_CONFLUENT__API_SECRET.",
                style="yellow",
            )
        try:
            return Settings.load().with_changes(
                aws=_given(profile=self.profile),
                confluent=_given(api_key=self.api_key, api_secret=self.api_secret),
                snowflake=_given(admin_secret=self.admin_secret),
            )
        except ValidationError as e:
            raise typer.BadParameter("; ".join(each["msg"] for each in e.errors())) from None

    def spec(self, deployment: Deployment) -> DeploymentSpec:
        """The deployment, with the numbers that are told here; says which of them its file does not know."""
        spec = deployment.spec
        rotation = _given(
            every=timedelta(days=self.day_count) if self.day_count else None, keep=self.keys_kept
        )
        aws = _given(auto_offset_reset=self.offset_reset)
        snowflake = _given(warehouse=self.warehouse)
        if snowflake and not spec.snowflake:
            raise typer.BadParameter(f"--snowflake-warehouse: {spec.name} has no part in Snowflake.")
        changed = spec.model_copy(
            update={
                "rotation": spec.rotation.model_copy(update=rotation),
                "aws": spec.aws.model_copy(update=aws),
                "snowflake": spec.snowflake and spec.snowflake.model_copy(update=snowflake),
            }
        )
        if changed != spec:
            numbers = ", ".join({**rotation, **aws, **snowflake})
            console.print(f"{numbers}: for this time only; {deployment.file} says otherwise.", style="yellow")
        return changed


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def find_deployment(settings: Settings, name: str) -> Deployment:
    """The deployment of that name; without a name the only one."""
    return _deployments(settings).named(name)


def administered(settings: Settings, name: str) -> Deployment:
    """The same, for somebody who administers it.

    Raises:
        ConfigureError: The settings are those of who work in a deployment.
    """
    known = _deployments(settings)
    for each in known.sound:
        if own := ", ".join(identities_in(settings, each.spec)):
            raise _works_in(each.spec.name, own)
    return known.named(name)


def _deployments(settings: Settings) -> Deployments:
    return load_deployments(settings, load_pipelines(settings=settings).names)


def _works_in(name: str, own: str) -> ConfigureError:
    """Its identities would be refused, and the clouds advise rights for them that nobody should give."""
    named = [each for each in map(variable, OF_WHO_WORKS) if each in os.environ]
    here = f"here, where a profile says who administers, first `unset {' '.join(named)}`"
    return ConfigureError(
        f"These are the settings of those who work in {name}; they administer nothing.",
        where=own,
        meaning="Nobody was asked, and nothing was changed.",
        todo="Do it in a shell that did not evaluate `frazil env --deployment NAME`; or "
        f"{here if named else 'name the profile of who administers by FRAZIL_PROFILE'}.",
    )


def ask_for_keys(spec: DeploymentSpec, settings: Settings) -> None:
    """Refuses to start without what proves who makes the deployment."""
    snowflake = settings.snowflake
    if spec.confluent and not settings.confluent.api_key:
        raise typer.BadParameter(
            "--confluent-api-key and --confluent-api-secret, or FRAZIL_CONFLUENT__..., are missing."
        )
    key = snowflake.private_key_path or snowflake.private_key
    if spec.snowflake and not (snowflake.admin_secret or key or snowflake.token):
        raise typer.BadParameter(
            "--admin-service-user-secrets-root-path, or FRAZIL_SNOWFLAKE__ADMIN_SECRET, is missing."
        )


@contextmanager
def debug_log(settings: Settings, file: Path | None) -> Iterator[None]:
    """Writes what is asked and answered into a file, without the settings' secrets and without bodies."""
    if file is None:
        yield
        return
    try:
        stream = file.open("w", encoding="utf-8")
    except OSError as e:
        raise ConfigureError(
            f"{file} can't be written: {e.strerror}.", todo="Start it in another folder."
        ) from None
    loggers = [logging.getLogger(name) for name in (*LOGGERS, "urllib3.connectionpool")]
    before = [logger.level for logger in loggers]
    with stream:
        handler = JsonLines(settings, stream)
        for logger in loggers:
            logger.addHandler(handler)
            logger.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            for logger, level in zip(loggers, before, strict=True):
                logger.removeHandler(handler)
                logger.setLevel(level)
