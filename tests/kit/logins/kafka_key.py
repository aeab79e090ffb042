"""A key of Kafka that is replaced: the broker is real, and knows one key at a time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from frazil.settings.profile import Settings
from kit.runs.waiting import PATIENCE
from kit.stack.locked_kafka import LockedKafka


@dataclass
class KeyOfKafka:
    """The one user that the broker knows, and the files in which a client finds it."""

    kafka: LockedKafka
    folder: Path
    number: int = 0

    def settings(self) -> Settings:
        login = {"username": f"file:{self.folder / 'key'}", "password": f"file:{self.folder / 'secret'}"}
        where = {"bootstrap_servers": self.kafka.at("SCRAM"), "ca": self.kafka.authority.file}
        return Settings.load(kafka={**where, "mechanism": "SCRAM-SHA-512", **login})

    def replace(self, *, written: bool = True) -> None:
        """Another key works from now on, and the one before does not."""
        admin, info = self.admin, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        gone = [UserScramCredentialDeletion(self.name, ScramMechanism.SCRAM_SHA_512)] if self.number else []
        self.number += 1
        made = UserScramCredentialUpsertion(self.name, info, f"secret-{self.number}".encode())
        for future in admin.alter_user_scram_credentials([made, *gone]).values():
            future.result(PATIENCE)
        if written:
            self.write()

    def write(self) -> None:
        (self.folder / "key").write_text(self.name)
        (self.folder / "secret").write_text(f"secret-{self.number}")

    @property
    def name(self) -> str:
        return f"key-{self.number}"

    @property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.kafka.at("OPEN")})
