"""The clients of the clouds that one deployment lives in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from frazil.cloud.secrets import SecretStore


@dataclass(frozen=True)
class Clouds:
    """Who talks to AWS, to Confluent Cloud, to Snowflake, and to the store of secrets."""

    aws: Any
    confluent: Any
    snowflake: Any
    secrets: SecretStore
