"""The embedded stack, asked over a wire that loses answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.settings.profile import Settings
from kit.wire import Wire, wired

__all__ = ["over_the_wire"]


@contextmanager
def over_the_wire(settings: Settings) -> Iterator[tuple[Wire, Connections]]:
    """A calm wire before Glue, the REST catalog and S3, and clients that know the servers by it only.

    Spark's sessions are told the same addresses: they ask over the wire, too.
    """
    assert settings.glue.endpoint
    assert settings.s3.endpoint
    servers = {"rest": settings.rest.uri, "glue": settings.glue.endpoint, "s3": settings.s3.endpoint}
    with wired(servers) as (wire, urls):
        at = {
            "rest": {"uri": urls["rest"]},
            "glue": {"endpoint": urls["glue"]},
            "s3": {"endpoint": urls["s3"]},
        }
        yield wire, Clients(settings.with_changes(**at))
