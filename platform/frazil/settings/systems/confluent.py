"""Who makes and removes deployments in Confluent Cloud."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from frazil.settings.secret import Secret
from frazil.settings.systems.system import OptionalUrl, SystemSettings


class ConfluentSettings(SystemSettings):
    """`FRAZIL_CONFLUENT__...`: for `frazil deploy` and `frazil rotate`; landings have keys of their own."""

    endpoint: OptionalUrl = Field(None, description="For stand-ins of Confluent Cloud: their address.")
    api_key: Secret | None = Field(None, description="The Cloud API key that makes deployments.")
    api_secret: Secret | None = Field(None, description="The secret of that key.")

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        self.ask_for(["api_key", "api_secret"], "a Cloud API key", self.api_key or self.api_secret)
        return self
