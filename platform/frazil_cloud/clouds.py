"""The clients of the clouds that one deployment lives in."""

from __future__ import annotations

from dataclasses import dataclass

from frazil_cloud.aws.client import Aws
from frazil_cloud.confluent.client import Confluent
from frazil_cloud.secrets import SecretStore
from frazil_cloud.snowflake.client import Snowflake


@dataclass(frozen=True)
class Clouds:
    """Who talks to AWS, to Confluent Cloud, to Snowflake, and to the store of secrets.

    Args:
        adopts: Whether an environment that bears the deployment's name, and no mark, is taken over.
    """

    aws: Aws
    confluent: Confluent
    snowflake: Snowflake
    secrets: SecretStore
    adopts: bool = False
