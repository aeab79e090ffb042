"""A Snowflake whose answers are lost, cut, refused, or never come: it shows the table, or is named."""

from __future__ import annotations

from contextlib import suppress

import pytest

from frazil.connections import Connections
from frazil.errors import PartDownError
from kit.readers.targets import read_snowflake, sync_snowflake
from kit.readers.trades import Trades
from kit.stack.standin import statement_of
from kit.wires.wire import Fate, Wire

FATES: tuple[Fate, ...] = ("dropped", "cut", "failed", "halved", "refused")


@pytest.mark.each_time("dropped")  # by day test_down_for_long.py has one that is refused
@pytest.mark.parametrize("fate", FATES)
def test_what_befalls_a_statement_is_made_good_or_told_as_unknown(
    wire_and_clients: tuple[Wire, Connections], trades: Trades, fate: Fate
) -> None:
    wire, clients = wire_and_clients
    for count, statement in enumerate(("CREATE ICEBERG TABLE", "REFRESH"), 1):
        wire.once(fate, lambda asked, expected=statement: expected in statement_of(asked.path, asked.body))  # type: ignore[misc]
        with suppress(PartDownError):
            sync_snowflake(clients, trades.names)
        sync_snowflake(clients, trades.names)
        shown = read_snowflake(clients, trades.names)
        assert shown
        assert shown.rows == count
        assert wire.met["snowflake", fate] == count
        trades.append("MORE")
        trades.show()


@pytest.mark.each_time("statement")
@pytest.mark.parametrize("statement", ["", "CREATE ICEBERG TABLE"], ids=["login", "statement"])
def test_a_snowflake_that_never_answers_is_given_up_and_named(
    wire_and_clients: tuple[Wire, Connections], trades: Trades, statement: str, impatient: pytest.MonkeyPatch
) -> None:
    wire, clients = wire_and_clients
    wire.always("hangs", lambda asked: statement in statement_of(asked.path, asked.body))

    with pytest.raises(PartDownError, match="Snowflake does not answer"):
        sync_snowflake(clients, trades.names)
    assert wire.met["snowflake", "hangs"]
    wire.calm()
    impatient.undo()
    sync_snowflake(clients, trades.names)

    shown = read_snowflake(clients, trades.names)
    assert shown
    assert shown.rows == 1
