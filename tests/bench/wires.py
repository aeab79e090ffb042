"""What it costs that records of one topic name their schemas in many ways, in three formats.

`python tests/bench/wires.py [--count 1000000] [--repeats 3]` lands two topics into three tables each, in
turn: one has records of one wire, the other of seven. Each row is compared with what was sent. Prints a table
on stderr and one line of JSON on stdout; exits with 1 where a row is wrong, or the target is missed.
"""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pyarrow as pa
from confluent_kafka.admin import NewTopic
from figures import Line, console, show
from meter import Cost, Meter, medians
from pyiceberg.exceptions import NoSuchTableError
from topics import PARTITIONS

from frazil.clients import Clients
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil.spec.names import things
from frazil.spec.topic import TableSpec
from frazil_local.generators.producer import produce
from kit.wires.gate import gate, uncompressed
from kit.wires.mixed import FORMATS, WIRES, Mixed, with_guids

NAMESPACE, WARM_UPS, TARGET = "bench", 1, 1.2


def main() -> int:
    """Measures, and prints."""
    options = _arguments()
    settings = Settings.load()
    with gate(settings.registry.url, lambda _: True, signed=uncompressed, edited=with_guids) as url:
        changed = {"url": url, "eight_byte_ids": "global"}
        lines = list(_lines(Clients(settings.with_changes(registry=changed)), options.count, options.repeats))
    show(lines)
    return 0 if all(line.met for line in lines) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000, help="records of each topic")
    parser.add_argument("--repeats", type=int, default=3, help="runs that count, of each topic")
    return parser.parse_args()


def _lines(clients: Clients, count: int, repeats: int) -> Iterator[Line]:
    meter = Meter()
    with _topic(clients, WIRES[:1], count) as one, _topic(clients, WIRES, count) as many:
        runs = [
            [_landed(clients, meter, each, count, turn) for each in (one, many)]
            for turn in range(WARM_UPS + repeats)
        ][WARM_UPS:]
    of_one, of_many = (medians([run[place][0] for run in runs]) for place in (0, 1))
    wrong = sum(run[place][1] for run in runs for place in (0, 1))
    ratio = of_many.cpu / of_one.cpu
    per_million = 1e6 / count
    yield Line("rows that are not what was sent", wrong, "rows", "0", wrong == 0)
    yield Line("one wire, three formats", of_one.cpu * per_million, "CPU s a million")
    yield Line("seven wires, three formats", of_many.cpu * per_million, "CPU s a million")
    yield Line("CPU, to one wire", ratio, "times", f"at most {TARGET}", ratio <= TARGET)


@contextmanager
def _topic(clients: Clients, wires: Sequence[str], count: int) -> Iterator[Mixed]:
    mixed = Mixed(f"bench_{uuid.uuid4().hex[:8]}", wires)
    wanted = NewTopic(mixed.topic, PARTITIONS, config={"retention.ms": "-1"})
    for future in clients.admin.create_topics([wanted]).values():
        future.result(30)
    try:
        mixed.register(clients)
        console.print(f"producing {count:,} records of {len(wires)} wires")
        records = ((each.number, *mixed.record(each)) for each in mixed.sent(count))
        produce(
            clients.settings, mixed.topic,
            ((b"k", value, headers, number % PARTITIONS, None) for number, value, headers in records),
        )  # fmt: skip
        yield mixed
    finally:
        for future in clients.admin.delete_topics([mixed.topic]).values():
            future.result(30)


def _landed(clients: Clients, meter: Meter, mixed: Mixed, count: int, turn: int) -> tuple[Cost, int]:
    """What the three landings took, and how many rows are wrong."""
    specs = {
        kind: mixed.spec(kind, namespace=NAMESPACE, table=f"{mixed.topic}_{kind}_{turn}") for kind in FORMATS
    }

    def all_of_them() -> None:
        for spec in specs.values():
            land(spec, clients)

    cost = meter.cost(all_of_them)
    wrong = sum(_wrong(clients, mixed, kind, spec, count) for kind, spec in specs.items())
    for spec in specs.values():
        name = things(spec, clients.settings).table
        for table in (name, name.dead_letters):
            with suppress(NoSuchTableError):
                clients.catalog.purge_table(table.identifier)
    console.print(f"  {len(mixed.wires)} wires, {turn}: {cost.cpu:.2f} CPU s, {cost.seconds:.2f} s")
    return cost, wrong


def _wrong(clients: Clients, mixed: Mixed, kind: str, spec: TableSpec, count: int) -> int:
    """Rows of a table that differ from what was sent, or are missing."""
    sent = pa.Table.from_pylist([each.row for each in mixed.sent(count) if each.format == kind])
    table = clients.catalog.load_table(things(spec, clients.settings).table.identifier)
    rows = table.scan(selected_fields=tuple(sent.column_names)).to_arrow()
    rows = rows.select(sent.column_names).sort_by("n").cast(sent.schema.remove_metadata(), safe=True)
    if len(rows) != len(sent):
        return max(1, abs(len(rows) - len(sent)))
    return 0 if rows.equals(sent) else len(rows)


if __name__ == "__main__":
    sys.exit(main())
