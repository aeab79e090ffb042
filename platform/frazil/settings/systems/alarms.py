"""Who is told of alarms: a webhook, Slack, e-mail."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from frazil.settings.secret import Secret
from frazil.settings.systems.system import SystemSettings


class MailSettings(SystemSettings):
    """`FRAZIL_ALARMS__MAIL__...`: the server that sends e-mail."""

    host: str = Field(description="The SMTP server.")
    port: int = Field(587, description="Its port; 465 is that of `tls`.")
    security: Literal["starttls", "tls", "none"] = Field("starttls", description="How it is encrypted.")
    user: str | None = Field(None, description="The user who logs in; default: no login.")
    password: Secret | None = Field(None, description="Password of that user.")
    sender: str = Field(description="The address that it comes from.")
    to: str = Field(description="The addresses that it goes to, separated by commas.")

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if (self.user is None) != (self.password is None):
            raise ValueError("a login needs user and password")
        return self


class AlarmSettings(SystemSettings):
    """`FRAZIL_ALARMS__...`."""

    webhook: Secret | None = Field(None, description="An address that takes alarms as JSON.")
    slack: Secret | None = Field(None, description="An incoming webhook of Slack.")
    mail: MailSettings | None = Field(None, description="A server that sends e-mail.")
    severity: Literal["WARN", "ERROR"] = Field(
        "WARN", description="The lowest severity of a check that is reported."
    )
