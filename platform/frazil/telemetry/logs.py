"""Log lines as JSON, one object a line, for a log collector."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any, TextIO

from frazil.settings.profile import Settings
from frazil.settings.secret import conceal
from frazil.settings.systems.telemetry import LogSettings

LOGGERS = ("frazil", "frazil_cloud", "frazil_lineage", "frazil_local")
"""The loggers above all others of ours."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.StreamHandler[Any]):
    """Writes records to a stream, by default stderr, with the fields of `extra` beside the message."""

    def __init__(self, settings: Settings | None = None, stream: TextIO | None = None) -> None:
        super().__init__(stream)
        self._settings = settings

    def format(self, record: logging.LogRecord) -> str:
        """One object on one line; no secret of the settings is in it."""
        line = json.dumps(self._document(record), default=str)
        return conceal(line, self._settings) if self._settings else line

    def _document(self, record: logging.LogRecord) -> dict[str, Any]:
        document = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _STANDARD},
        }
        if record.exc_info:
            document["trace"] = logging.Formatter().formatException(record.exc_info)
        return document


def configure_logs(log: LogSettings, settings: Settings | None = None) -> None:
    """Turns this process's log into JSON, where that is set; a second call takes the place of the first.

    Args:
        log: Which format and level.
        settings: Whose secrets are kept out; None where they are not known yet.
    """
    if log.format != "json":
        return
    root = logging.getLogger()
    for handler in [h for h in root.handlers if isinstance(h, JsonLines)]:
        root.removeHandler(handler)
    root.addHandler(JsonLines(settings))
    for name in LOGGERS:
        logging.getLogger(name).setLevel(log.level)


def is_json() -> bool:
    """Whether this process logs JSON."""
    return any(isinstance(handler, JsonLines) for handler in logging.getLogger().handlers)
