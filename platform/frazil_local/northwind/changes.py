"""What happens in Northwind: orders come, are changed, shipped and cancelled; goods are sold and bought.

Each step is a transaction. What it does follows from the seed, its number and the rows that are there; the
number of steps is kept in the database itself, so that a second call goes on where the first one stopped.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from frazil.errors import PartDownError
from frazil_local.home import Home
from frazil_local.northwind.database import DATABASE
from frazil_local.northwind.parts import has_northwind
from frazil_local.northwind.postgres import open_database
from frazil_local.northwind.rows import LAST_DAY, Row, customer, price
from frazil_local.ports import Ports

if TYPE_CHECKING:
    from psycopg import Connection

_A_DAY = 25
"""Steps that one day of Northwind's takes."""


@dataclass(frozen=True, slots=True)
class ChangesReport:
    """What one call did: transactions, and rows inserted, updated and deleted by each."""

    transactions: int
    rows: int
    seconds: float


def change_rows(
    home: Home,
    ports: Ports,
    *,
    count: int | None = None,
    rate: float | None = None,
    seed: int = 0,
    on_progress: Callable[[int], None] = lambda _: None,
    stop: threading.Event | None = None,
) -> ChangesReport:
    """Changes rows: `count` times, at `rate` a second, or until `stop`.

    Raises:
        PartDownError: The database can't be reached, or broke off; what was done stays.
    """
    import psycopg

    if not has_northwind(home):
        raise PartDownError(
            "This stack has no database.",
            where=str(home.root),
            todo="`frazil up --with northwind` starts one.",
        )
    stop, begun, rows, done = stop or threading.Event(), time.monotonic(), 0, 0
    try:
        with open_database(home, ports, DATABASE) as connection:
            connection.autocommit = True
            while done != count and not stop.is_set():
                rows += _step(connection, seed)
                on_progress(done := done + 1)
                if rate is not None:
                    stop.wait(max(0, done / rate - (time.monotonic() - begun)))
    except psycopg.OperationalError as e:
        problem = "Northwind's database does not answer."
        raise PartDownError(
            problem, where=str(e).strip(), todo="See `frazil status`, then call it again."
        ) from None
    return ChangesReport(done, rows, time.monotonic() - begun)


def _step(connection: Connection[Any], seed: int) -> int:
    """One transaction; returns how many rows it changed."""
    with connection.transaction():
        (number,) = connection.execute(_NEXT).fetchone() or (0,)
        work = _Work(connection, random.Random(f"{seed}:{number}"), LAST_DAY + timedelta(number // _A_DAY))
        (change,) = work.dice.choices(list(_SHARES), list(_SHARES.values()))
        change(work)
        return work.rows


_NEXT = "UPDATE generator.position SET steps = steps + 1 RETURNING steps"


class _Work:
    """One transaction under way, on one day of Northwind's."""

    def __init__(self, connection: Connection[Any], dice: random.Random, today: date) -> None:
        self._connection, self.dice, self.today, self.rows = connection, dice, today, 0

    def run(self, statement: str, *values: Any) -> None:
        """Changes rows."""
        self.rows += self._connection.execute(statement.encode(), values).rowcount

    def any_of(self, query: str, count: int = 1) -> Sequence[Row]:
        """Some of the rows that a query finds; fewer, where it finds fewer."""
        rows = self._connection.execute(query.encode()).fetchall()
        return self.dice.sample(rows, min(count, len(rows)))


def _order(work: _Work) -> None:
    """A customer orders one to five products, which leave the stock."""
    buyers = work.any_of("SELECT * FROM customers ORDER BY customer_id")
    goods = work.any_of(_ON_SALE, work.dice.randrange(1, 6))
    for buyer in buyers:
        ((order,),) = work.any_of("SELECT max(order_id) + 1 FROM orders")
        when = (work.today, work.today + timedelta(28), None)
        address = (buyer[1], buyer[4], *buyer[5:9])
        made = (order, buyer[0], work.dice.randrange(1, 10), *when, work.dice.randrange(1, 4), None, *address)
        work.run(f"INSERT INTO orders VALUES ({_marks(made)})", *made)
        for product, cost, stock in goods:
            quantity, discount = (
                work.dice.randrange(1, min(stock, 60) + 1),
                work.dice.choice((0, 0, 0.05, 0.15)),
            )
            line = (order, product, cost, quantity, discount)
            work.run(f"INSERT INTO order_details VALUES ({_marks(line)})", *line)
            work.run(_SOLD, quantity, product)


def _ship(work: _Work) -> None:
    for (order,) in work.any_of(f"{_OPEN} LIMIT 20"):
        freight = price(work.dice, 20_000)
        work.run(
            "UPDATE orders SET shipped_date = %s, freight = %s WHERE order_id = %s",
            work.today,
            freight,
            order,
        )


def _alter_line(work: _Work) -> None:
    for order, product in work.any_of(_OPEN_LINES):
        quantity = work.dice.randrange(1, 100)
        work.run(f"UPDATE order_details SET quantity = %s WHERE {_LINE}", quantity, order, product)


def _drop_line(work: _Work) -> None:
    for order, product in work.any_of(_OPEN_LINES):
        work.run(f"DELETE FROM order_details WHERE {_LINE}", order, product)


def _cancel(work: _Work) -> None:
    for (order,) in work.any_of(_OPEN):
        work.run("DELETE FROM order_details WHERE order_id = %s", order)
        work.run("DELETE FROM orders WHERE order_id = %s", order)


def _reprice(work: _Work) -> None:
    for (product,) in work.any_of("SELECT product_id FROM products ORDER BY product_id", 3):
        work.run(
            "UPDATE products SET unit_price = %s WHERE product_id = %s", price(work.dice, 9_000), product
        )


def _buy_in(work: _Work) -> None:
    """What runs short is ordered; what was ordered comes."""
    work.run(_ARRIVED)
    work.run("UPDATE products SET units_on_order = 60 WHERE units_in_stock <= reorder_level")


def _welcome(work: _Work) -> None:
    ((known,),) = work.any_of("SELECT count(*) FROM customers")
    new = customer(work.dice, (known + 1) * 7919)
    work.run(f"INSERT INTO customers VALUES ({_marks(new)}) ON CONFLICT DO NOTHING", *new)


def _move(work: _Work) -> None:
    for (buyer,) in work.any_of(_BUYERS):
        street = f"{work.dice.randrange(1, 200)} New St."
        work.run("UPDATE customers SET address = %s, region = NULL WHERE customer_id = %s", street, buyer)


def _rename(work: _Work) -> None:
    """A customer gets another key, and its orders follow it."""
    for (buyer,) in work.any_of(_BUYERS):
        other = "".join(work.dice.choices("ABCDEFGHIJ", k=5))
        free = "NOT EXISTS (SELECT FROM customers WHERE customer_id = %s)"
        work.run(
            f"UPDATE customers SET customer_id = %s WHERE customer_id = %s AND {free}", other, buyer, other
        )


def _marks(values: Sequence[Any]) -> str:
    return ", ".join(["%s"] * len(values))


_OPEN = "SELECT order_id FROM orders WHERE shipped_date IS NULL ORDER BY order_id"
_OPEN_LINES = (
    "SELECT order_id, product_id FROM order_details JOIN orders USING (order_id) "
    "WHERE shipped_date IS NULL ORDER BY order_id, product_id"
)
_LINE = "order_id = %s AND product_id = %s"
_BUYERS = "SELECT customer_id FROM customers ORDER BY customer_id"
_ON_SALE = (
    "SELECT product_id, unit_price, units_in_stock FROM products "
    "WHERE discontinued = 0 AND units_in_stock > 0 ORDER BY product_id"
)
_SOLD = "UPDATE products SET units_in_stock = units_in_stock - %s WHERE product_id = %s"
_ARRIVED = (
    "UPDATE products SET units_in_stock = units_in_stock + units_on_order, units_on_order = 0 "
    "WHERE units_on_order > 0"
)
_SHARES: dict[Callable[[_Work], None], int] = {
    _order: 45, _ship: 20, _alter_line: 8, _drop_line: 3, _cancel: 6, _reprice: 6, _buy_in: 5, _welcome: 3,
    _move: 3, _rename: 1,
}  # fmt: skip
"""How often each thing happens, of 100."""
