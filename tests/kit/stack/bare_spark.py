"""What is said of a Spark that has nothing that Frazil needs: a program, for it takes over its process."""

from __future__ import annotations

import json

from frazil.clients import Clients
from frazil.doctor.preflight import probes
from frazil.doctor.run import findings_of
from frazil.settings.profile import Settings
from kit.derived.shipped import derived_spec, transformed
from kit.records.tickets import NOW, coming, tickets


def main() -> None:
    connections = Clients(Settings.load(spark={"remote": "local[1]"}))
    document = {"findings": _findings(connections), "zone": _zone(connections)}
    print(json.dumps(document | {"flights": _flights(connections)}))


def _findings(connections: Clients) -> dict[str, list[str]]:
    findings = findings_of("spark", probes(connections, kafka=True))
    return {finding.right: [finding.status, finding.what, finding.mend] for finding in findings}


def _zone(connections: Clients) -> str:
    """The zone of Java, of which Spark takes its own where nobody sets it."""
    return str(connections.spark._jvm.java.util.TimeZone.getDefault().getID())


def _flights(connections: Clients) -> list[str]:
    """Which tickets have yet to arrive, as the airline's own query finds them."""
    inputs = {name: tickets(connections, coming()) for name in ("skyone", "sunset")}
    return sorted(
        {row["confirmation_code"] for row in transformed(derived_spec("flight"), connections, NOW, **inputs)}
    )


if __name__ == "__main__":
    main()
