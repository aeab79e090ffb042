"""Questions about the past of Iceberg tables, over tokens: when each was refreshed last."""

from __future__ import annotations

from frazil_local.snowflake.answers import syntax_error
from frazil_local.snowflake.language.tokens import Tokens

_HISTORY = "ICEBERG_TABLE_SNAPSHOT_REFRESH_HISTORY"
_BEFORE = (
    ",", "DATE_PART", "(", "EPOCH_SECOND", ",", "MAX", "(", "REFRESHED_ON", ")", ")", "FROM", "TABLE", "(",
)  # fmt: skip


def refresh_histories(tokens: Tokens) -> tuple[tuple[str, str], ...]:
    """Of `SELECT n, DATE_PART(EPOCH_SECOND, MAX(REFRESHED_ON)) FROM TABLE(...)`: each n with its table.

    Several are joined by UNION ALL; none where the statement is another one.
    """
    asked: list[tuple[str, str]] = []
    while tokens.text().isdigit() and tokens.word(2) == "DATE_PART":
        place = tokens.text()
        tokens.skip(1)
        tokens.expect_texts(*_BEFORE)
        if tokens.name()[-1] != _HISTORY:
            raise syntax_error(f"MAX(REFRESHED_ON) of another function than {_HISTORY} is not known here.")
        tokens.expect_texts("(", "TABLE_NAME", "=>")
        asked.append((place, tokens.string()))
        tokens.expect_texts(")", ")")
        if not tokens.take("UNION", "ALL"):
            break
        tokens.expect_texts("SELECT")
    return tuple(asked)
