from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from frazil.errors import ConfigureError
from frazil_local.ports import DEFAULTS, LOOPBACK, choose, is_taken, parse, recall, remember, taken
from kit.stack.shared_stack import free_offset


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "stack.json"


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server((LOOPBACK, 0)) as server:
        yield server.getsockname()[1]


def test_without_a_choice_the_ports_are_the_defaults(memory: Path) -> None:
    assert choose(memory) == DEFAULTS


def test_an_offset_moves_every_port(memory: Path) -> None:
    assert choose(memory, offset=1000) == {name: port + 1000 for name, port in DEFAULTS.items()}


def test_a_port_given_by_name_wins_over_the_offset(memory: Path) -> None:
    assert choose(memory, {"kafka": 19999}, offset=1000)["kafka"] == 19999


def test_a_choice_is_remembered(memory: Path) -> None:
    remember(memory, choose(memory, {"kafka": 19092}, offset=1000))

    assert recall(memory)["kafka"] == 19092
    assert choose(memory)["s3"] == DEFAULTS["s3"] + 1000


def test_a_part_that_is_newer_than_the_stack_goes_where_the_others_went(memory: Path) -> None:
    ports = choose(memory, offset=1000)
    remember(memory, {name: port for name, port in ports.items() if name != "spark-upkeep"})

    assert recall(memory) == ports


def test_a_new_offset_forgets_the_ports_chosen_before(memory: Path) -> None:
    remember(memory, choose(memory, {"kafka": 19092}))

    assert choose(memory, offset=0) == DEFAULTS


def test_two_parts_on_one_port_are_refused_by_name(memory: Path) -> None:
    with pytest.raises(ConfigureError, match=r"9093 is wanted by kafka and by kafka-controller"):
        choose(memory, {"kafka": 9093})


def test_an_offset_beyond_the_last_port_is_refused(memory: Path) -> None:
    with pytest.raises(ConfigureError, match="is none"):
        choose(memory, offset=60_000)


def test_a_file_of_ports_that_is_no_json_is_named(memory: Path) -> None:
    memory.write_text("9092")

    with pytest.raises(ConfigureError, match=str(memory)):
        recall(memory)


@pytest.mark.parametrize("pair", ["kafka", "kafka=", "kafka=x", "kafka=0", "kafka=70000", "kafak=9092"])
def test_a_port_that_is_none_is_refused_with_the_names_that_are(pair: str) -> None:
    with pytest.raises(ConfigureError, match=r"(?s)says no port.*kafka, kafka-controller, registry"):
        parse([pair])


def test_ports_are_read_by_name() -> None:
    assert parse(["kafka=19092", "s3=18333"]) == {"kafka": 19092, "s3": 18333}


def test_a_port_is_taken_while_something_listens_there(listener: int) -> None:
    assert is_taken(listener)


def test_the_error_for_a_taken_port_names_the_process_that_holds_it(listener: int) -> None:
    text = str(taken("kafka", "kafka-controller", listener))

    assert f"Port {listener} is taken by process {os.getpid()} " in text
    assert "frazil up --port kafka-controller=NUMBER" in text


def test_a_free_offset_leaves_every_port_free() -> None:
    offset = free_offset()

    assert not [port for port in DEFAULTS.values() if is_taken(port + offset)]
