"""Serves until it is told to end: `python -m frazil.local.aws`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from frazil.local.aws.glue import keep_glue
from frazil.local.aws.kept import Kept
from frazil.local.ports import LOOPBACK


def main() -> None:
    """Serves moto with Frazil's Glue."""
    from moto.moto_server.werkzeug_app import (
        DomainDispatcherApplication,
        MotoRequestHandler,
        create_backend_app,
    )
    from werkzeug.serving import run_simple

    class Quiet(MotoRequestHandler):
        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Not a line for each request: a landing makes dozens."""

    port = int(os.environ["FRAZIL_AWS_PORT"])
    os.environ["MOTO_PORT"] = str(port)  # moto's answers name it
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    keep_glue(Kept(Path(os.environ["FRAZIL_AWS_STATE"]) / "glue.sqlite"))
    serve = DomainDispatcherApplication(create_backend_app)
    run_simple(LOOPBACK, port, serve, threaded=True, request_handler=Quiet)


if __name__ == "__main__":
    main()
