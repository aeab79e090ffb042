"""What `frazil --help` says of the commands of deployments; imports none of them."""

from __future__ import annotations

from frazil.cli.catalogue import Catalogue
from frazil_cloud import CLOUD

CATALOGUE = Catalogue(
    package="frazil_cloud.cli",
    commands={
        "deploy": {
            "deploy": "Plan, create, verify or delete a deployment in Confluent Cloud, AWS and Snowflake.",
        },
        "rotate": {
            "rotate": "Replace old API keys and Snowflake's old RSA keys. Those in use go on working.",
        },
    },
    panel="Clouds",
    extra=CLOUD,
)
