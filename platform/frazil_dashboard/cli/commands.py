"""What `frazil --help` says of the dashboard; imports nothing of it."""

from __future__ import annotations

from frazil.cli.catalogue import Catalogue
from frazil_dashboard import DASHBOARD

CATALOGUE = Catalogue(
    package="frazil_dashboard.cli",
    commands={
        "dashboard": {
            "dashboard": "Show the tables in a browser: how they stand, and the pages of pipelines. "
            "Reads only.",
        },
    },
    extra=DASHBOARD,
)
