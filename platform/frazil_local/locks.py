"""What a locked stack adds to an open one: an authority of its own, whose certificates its servers show."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from frazil_local.home import Home, write_private

USER = "frazil"
"""The one user of the locked parts; each part has a secret of its own."""


@dataclass(frozen=True, slots=True)
class Locks:
    """The files of the authority; all servers share one certificate."""

    folder: Path

    @property
    def ca(self) -> Path:
        """The authority's own certificate."""
        return self.folder / "ca.pem"

    @property
    def certificate(self) -> Path:
        """What servers show."""
        return self.folder / f"{USER}.pem"

    @property
    def key(self) -> Path:
        """The key of that certificate."""
        return self.folder / f"{USER}.key"

    @property
    def both(self) -> Path:
        """Key and certificate in one file, as Kafka wants them."""
        return self.folder / "both.pem"

    @property
    def trust_store(self) -> Path:
        """The authority as Java reads it."""
        return self.folder / "authority.p12"


def locks_of(home: Home) -> Locks | None:
    """The locks of a stack; None where it is open."""
    return Locks(home.tls) if home.tls.exists() else None


def lock(home: Home) -> None:
    """Makes the locks, all of them or none."""
    from frazil_local.authority import Authority

    draft = home.scratch / "tls"
    shutil.rmtree(draft, ignore_errors=True)
    authority, made = Authority(draft, f"{USER} of {home.root}"[:64]), Locks(draft)
    identity = authority.identity(USER)
    write_private(made.both, identity.key.read_text() + identity.certificate.read_text())
    authority.trust_store(made.trust_store.name)
    draft.rename(home.tls)


def unlock(home: Home) -> None:
    """Throws the locks away."""
    shutil.rmtree(home.tls, ignore_errors=True)
