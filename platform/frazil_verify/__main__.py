"""Verifies what a request on the standard input asks for: `frazil-verify < request.json`."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from pydantic import ValidationError

from frazil_verify.findings import UnverifiableError
from frazil_verify.request import Request
from frazil_verify.verification import Verification

SOUND, UNSOUND, UNVERIFIABLE = 0, 1, 2


def run() -> None:
    """Prints the report as JSON. Exit code 1 if something disagrees, 2 if nothing can be said."""
    code, answer = verified(sys.stdin.read())
    sys.stdout.write(answer + "\n")
    sys.exit(code)


def verified(text: str) -> tuple[int, str]:
    """The exit code and the answer, as JSON, for the text of a request."""
    try:
        request = Request.model_validate_json(text)
        with tempfile.TemporaryDirectory(prefix="frazil-verify-") as folder:
            report = Verification.of(request, Path(folder)).report()
    except ValidationError as e:
        fields = ", ".join(".".join(map(str, each["loc"])) for each in e.errors())
        return _refused(f"the request is not one: {fields}")
    except UnverifiableError as e:
        return _refused(str(e))
    return SOUND if report.is_sound else UNSOUND, json.dumps(report.as_json(), default=str)


def _refused(why: str) -> tuple[int, str]:
    return UNVERIFIABLE, json.dumps({"unverifiable": why})


if __name__ == "__main__":
    run()
