"""Questions about the past of Iceberg tables, over tokens: when each was refreshed last."""

from __future__ import annotations

from frazil_local.snowflake.answers import syntax_error
from frazil_local.snowflake.language.tokens import Tokens

_HISTORY = "ICEBERG_TABLE_SNAPSHOT_REFRESH_HISTORY"
_BEFORE = (
    ",",
    "DATE_PART",
    "(",
    "EPOCH_SECOND",
    ",",
    "MAX",
    "(",
    "REFRESHED_ON",
    ")",
    ")",
    "FROM",
    "TABLE",
    "(",
)
_BEHIND = (")", ")")


def refresh_histories(tokens: Tokens) -> tuple[tuple[str, str], ...]:
    """Of `SELECT n, DATE_PART(EPOCH_SECOND, MAX(REFRESHED_ON)) FROM TABLE(...)`: each n with its table.

    Several are joined by UNION ALL; none where the statement is another one.
    """
    asked: list[tuple[str, str]] = []
    while tokens.text().isdigit() and tokens.word(2) == "DATE_PART":
        place = tokens.text()
        tokens.skip(1)
        _step_over(tokens, _BEFORE)
        if tokens.name()[-1] != _HISTORY:
            raise syntax_error(f"MAX(REFRESHED_ON) of another function than {_HISTORY} is not known here.")
        _step_over(tokens, ("(", "TABLE_NAME", "=>"))
        asked.append((place, tokens.string()))
        _step_over(tokens, _BEHIND)
        if not tokens.take("UNION", "ALL"):
            break
        _step_over(tokens, ("SELECT",))
    return tuple(asked)


def _step_over(tokens: Tokens, texts: tuple[str, ...]) -> None:
    for text in texts:
        if tokens.text().upper() != text:
            raise syntax_error(f"unexpected '{tokens.text()}', expected {text}.")
        tokens.skip(1)
