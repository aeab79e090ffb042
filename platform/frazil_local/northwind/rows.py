"""The rows that Northwind's tables begin with: made up, as many as in Microsoft's sample database.

They are the same in every stack. Only the shapes and the counts are those of the sample.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Any

Row = tuple[Any, ...]

COUNTS = {
    "categories": 8, "region": 4, "territories": 53, "us_states": 51, "shippers": 6, "suppliers": 29,
    "customer_demographics": 0, "customers": 91, "customer_customer_demo": 0, "employees": 9,
    "employee_territories": 49, "products": 77, "orders": 830, "order_details": 2155,
}  # fmt: skip
"""Rows by table, each table behind those that its rows refer to."""

FIRST_ORDER, FIRST_DAY, LAST_DAY = 10_248, date(1996, 7, 4), date(1998, 5, 6)

_KINDS = ("Beverages", "Condiments", "Confections", "Dairy", "Grains", "Meat", "Produce", "Seafood")
_REGIONS = ("Eastern", "Western", "Northern", "Southern")
_STATES = re.findall(
    r"([A-Z][A-Za-z ]*?) ([A-Z]{2})\b",
    "Alabama AL Alaska AK Arizona AZ Arkansas AR California CA Colorado CO Connecticut CT Delaware DE "
    "District of Columbia DC Florida FL Georgia GA Hawaii HI Idaho ID Illinois IL Indiana IN Iowa IA "
    "Kansas KS Kentucky KY Louisiana LA Maine ME Maryland MD Massachusetts MA Michigan MI Minnesota MN "
    "Mississippi MS Missouri MO Montana MT Nebraska NE Nevada NV New Hampshire NH New Jersey NJ "
    "New Mexico NM New York NY North Carolina NC North Dakota ND Ohio OH Oklahoma OK Oregon OR "
    "Pennsylvania PA Rhode Island RI South Carolina SC South Dakota SD Tennessee TN Texas TX Utah UT "
    "Vermont VT Virginia VA Washington WA West Virginia WV Wisconsin WI Wyoming WY",
)
_PLACES = (
    ("Aachen", None, "Germany"), ("Århus", None, "Denmark"), ("Bräcke", None, "Sweden"),
    ("Cork", "Co. Cork", "Ireland"), ("Eugene", "OR", "USA"), ("Graz", None, "Austria"),
    ("Lyon", None, "France"), ("México D.F.", None, "Mexico"), ("São Paulo", "SP", "Brazil"),
    ("Seattle", "WA", "USA"), ("Torino", None, "Italy"), ("Tsawassen", "BC", "Canada"),
)  # fmt: skip
_FIRST = ("Ana", "Björn", "Chloé", "Dimitri", "Elin", "Fran", "Gesa", "Hiro", "Inês", "Jürgen", "Kavi")
_LAST = ("Ahlberg", "Bianchi", "Costa", "D'Arcy", "Eriksen", "Fuchs", "García", "Holm", "Ito", "Janák")
_TITLES = ("Owner", "Sales Agent", "Marketing Manager", "Order Administrator", None)
_GOODS = ("Tea", "Chutney", "Marzipan", "Cheese", "Crispbread", "Sausage", "Dried Pears", "Herring")
_ADJECTIVES = ("Alpine", "Golden", "Harbour", "Mountain", "Old", "Royal", "Smoked", "Summer", "Sweet", "Wild")
_UNITS = ("10 boxes x 20 bags", "24 - 12 oz bottles", "12 jars", "1 kg pkg.", None)


def first_rows() -> dict[str, list[Row]]:
    """The rows of each table, in the order of `COUNTS` and of the table's columns."""
    dice = random.Random("northwind")
    customers = list(_customers(dice))
    products = list(_products(dice))
    orders = list(_orders(dice, customers))
    return {
        "categories": [
            (n, kind, f"{kind} of all sorts", dice.randbytes(64)) for n, kind in _numbered(_KINDS)
        ],
        "region": list(_numbered(_REGIONS)),
        "territories": [(f"{n:05}", f"Territory {n}", n % 4 + 1) for n in range(1, 54)],
        "us_states": [(n, *state, dice.choice(_REGIONS).lower()) for n, state in _numbered(_STATES)],
        "shippers": [(n, f"Parcel Line {n}", _phone(dice)) for n in range(1, 7)],
        "suppliers": [(n, f"Supplier {n}", *_contact(dice), None) for n in range(1, 30)],
        "customer_demographics": [],
        "customers": customers,
        "customer_customer_demo": [],
        "employees": list(_employees(dice)),
        "employee_territories": [(n % 9 + 1, f"{n + 1:05}") for n in range(49)],
        "products": products,
        "orders": orders,
        "order_details": list(_details(dice, orders, products)),
    }


def customer(dice: random.Random, number: int) -> Row:
    """A customer; five letters that no other number has tell it."""
    letters = "".join(chr(65 + number // 26**power % 26) for power in (4, 3, 2, 1, 0))
    return letters, f"{dice.choice(_ADJECTIVES)} {dice.choice(_GOODS)} {number}", *_contact(dice)


def price(dice: random.Random, most: int) -> float:
    """An amount of money, at most `most` cents."""
    return dice.randrange(100, most) / 100


def _customers(dice: random.Random) -> Iterator[Row]:
    return (customer(dice, number * 7919) for number in range(1, 92))


def _products(dice: random.Random) -> Iterator[Row]:
    names = [(adjective, good) for adjective in _ADJECTIVES for good in range(len(_GOODS))]
    for n, (adjective, good) in _numbered(names[:77]):
        stock, ordered, least = dice.randrange(0, 120), dice.choice((0, 0, 40)), dice.choice((0, 10, 25))
        name, supplier = f"{adjective} {_GOODS[good]}", dice.randrange(1, 30)
        amounts = (dice.choice(_UNITS), price(dice, 9_000), stock, ordered, least, int(n % 10 == 0))
        yield n, name, supplier, good + 1, *amounts


def _employees(dice: random.Random) -> Iterator[Row]:
    for n in range(1, 10):
        person = (_LAST[n], _FIRST[n], "Sales Representative", dice.choice(("Ms.", "Mr.", "Dr.", None)))
        born = date(1950, 1, 1) + timedelta(dice.randrange(5_000))
        place = (f"{n} Harbour Rd.", *_place(dice), _phone(dice), str(4_000 + n))
        about = (dice.randbytes(200), f"{_FIRST[n]} has “notes”;\nof two lines.", None if n == 2 else 2)
        yield n, *person, born, date(1992, n, 1), *place, *about, f"photos/{n}.bmp"


def _orders(dice: random.Random, customers: Sequence[Row]) -> Iterator[Row]:
    days = (LAST_DAY - FIRST_DAY).days
    for n in range(830):
        buyer, day = dice.choice(customers), FIRST_DAY + timedelta(n * days // 829)
        shipped = day + timedelta(dice.randrange(1, 20)) if n < 800 else None
        when = (day, day + timedelta(28), shipped)
        address = (buyer[1], buyer[4], *buyer[5:9])
        employee, shipper = dice.randrange(1, 10), dice.randrange(1, 4)
        yield FIRST_ORDER + n, buyer[0], employee, *when, shipper, price(dice, 20_000), *address


def _details(dice: random.Random, orders: Sequence[Row], products: Sequence[Row]) -> Iterator[Row]:
    """Two lines for each order and a third for some, so that they are 2,155."""
    for n, order in enumerate(orders):
        lines = 3 if n < COUNTS["order_details"] - 2 * len(orders) else 2
        for product in dice.sample(products, lines):
            yield order[0], product[0], product[5], dice.randrange(1, 100), dice.choice((0.0, 0.05, 0.15))


def _contact(dice: random.Random) -> Row:
    name, title = f"{dice.choice(_FIRST)} {dice.choice(_LAST)}", dice.choice(_TITLES)
    return name, title, f"{dice.randrange(1, 200)} Main St.", *_place(dice), _phone(dice), None


def _place(dice: random.Random) -> Row:
    city, region, country = dice.choice(_PLACES)
    return city, region, str(dice.randrange(10_000, 99_999)), country


def _phone(dice: random.Random) -> str:
    return f"(555) 01{dice.randrange(100):02}"


def _numbered(values: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    return enumerate(values, 1)
