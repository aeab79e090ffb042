"""Where Spark is, and what it asks of its clients."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from frazil.settings.files import File
from frazil.settings.secret import Secret
from frazil.settings.systems.system import SystemSettings

_ADDRESS = re.compile(r"(sc|spark|k8s)://.|local(\[.+\])?$|yarn$")
_SECRET = re.compile("token|secret|password|key|authorization", re.IGNORECASE)
"""Parameters of an address that hold a secret."""


class SparkSettings(SystemSettings):
    """`FRAZIL_SPARK__...`."""

    remote: str = Field(
        "sc://127.0.0.1:15002", description="A Spark Connect server, or a master; see docs/deploy.md."
    )
    token: Secret | None = Field(None, description="The token that the Connect server asks for.")
    ca: File | None = Field(
        None,
        description="PEM file of the authority that signed its certificate. Default: the well-known ones.",
    )
    upkeep_remote: str | None = Field(
        None, description="A Spark for upkeep alone. Default: that of landings, at low priority."
    )
    max_record_bytes: int = Field(
        32 * 2**20,
        ge=2**20,
        description="A record whose key, value or headers have more bytes is a bad record. Spark holds "
        "several copies of each record: give its JVM and its workers memory before you allow more.",
    )
    parallelism: int = Field(2, ge=1, description="Cores that one landing may keep busy.")

    @field_validator("remote", "upkeep_remote")
    @classmethod
    def _is_an_address(cls, given: str | None) -> str | None:
        if given is not None and not _ADDRESS.match(given):
            raise ValueError("write sc://HOST:PORT, spark://HOST:PORT, local[N], yarn or k8s://...")
        names = [part.partition("=")[0] for part in (given or "").split(";")[1:]]
        if secret := next((name for name in names if _SECRET.search(name)), None):
            raise ValueError(
                f"{secret} is a secret, and an address is shown: a token belongs into FRAZIL_SPARK__TOKEN"
            )
        return given
