"""What errors of the embedded stack advise is done: the stack can be started then, with the data it had."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from pathlib import Path
from typing import Any

import psutil
import pytest

from frazil.errors import ConfigureError, PartDownError, RetryError, UsageError
from frazil_local import jars
from frazil_local.home import Home
from frazil_local.jars import Jar, Jars, read_lock
from frazil_local.northwind.changes import change_rows
from frazil_local.parts import known_stack, prepared_stack
from frazil_local.ports import DEFAULTS, LOOPBACK, choose, is_taken, parse, recall, remember, taken
from kit.stack.own_stack import names_of_parts


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.make()
    return home


def as_if_it_ran(home: Home) -> Path:
    file = home.running / "kafka.json"
    file.write_text(json.dumps({"pid": os.getpid(), "born": psutil.Process().create_time()}))
    return file


def test_a_home_that_may_be_written_to_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigureError, match="can't be made") as raised:
        Home(tmp_path / "file" / "home").make()
    assert "FRAZIL_HOME" in raised.value.todo

    Home(tmp_path / "elsewhere").make()

    assert (tmp_path / "elsewhere" / "logs").is_dir()


def test_a_file_of_ports_that_can_not_be_read_is_deleted_and_the_data_stays(home: Home) -> None:
    prepared_stack(home, {}, offset=1000)
    (home.root / "data").mkdir(exist_ok=True)
    (home.root / "data" / "rows").write_text("rows")
    home.ports.write_text("{")
    with pytest.raises(ConfigureError, match="can't be read") as raised:
        known_stack(home)
    assert raised.value.todo.startswith("Delete it, then `frazil down`")  # what runs has the older ports

    home.ports.unlink()
    prepared_stack(home, {})

    assert recall(home.ports) == DEFAULTS
    assert (home.root / "data" / "rows").read_text() == "rows"


def test_ports_that_collide_or_are_none_are_chosen_anew(home: Home) -> None:
    with pytest.raises(UsageError, match="is wanted by") as raised:
        choose(home.ports, {"kafka": DEFAULTS["kafka-controller"]})
    name = raised.value.todo.partition("--port ")[2].partition("=")[0]
    assert choose(home.ports, {"kafka": DEFAULTS["kafka-controller"], name: 19999})[name] == 19999

    with pytest.raises(UsageError, match="is none") as offset:
        choose(home.ports, offset=60_000)
    assert offset.value.todo == "Use another offset."
    assert choose(home.ports, offset=1000)["kafka"] == DEFAULTS["kafka"] + 1000

    with pytest.raises(UsageError) as unread:
        parse(["kafka"])
    assert unread.value.todo.startswith("Write --port NAME=NUMBER")
    assert parse(["kafka=19092"]) == {"kafka": 19092}


def test_a_port_that_is_held_is_freed_or_another_one_chosen(home: Home) -> None:
    with socket.create_server((LOOPBACK, 0)) as holder:
        port = holder.getsockname()[1]
        assert is_taken(port)
        todo = taken("kafka", "kafka", port).todo
    assert "`frazil up --port kafka=NUMBER`" in todo
    assert not is_taken(port)

    remember(home.ports, choose(home.ports, parse(["kafka=19092"])))
    assert recall(home.ports)["kafka"] == 19092


def test_a_stack_that_runs_gets_other_ports_or_other_parts_once_it_is_down(home: Home) -> None:
    prepared_stack(home, {}, northwind=True)
    part = as_if_it_ran(home)
    with pytest.raises(ConfigureError, match="other ports") as ports:
        prepared_stack(home, {"kafka": 19092})
    assert ports.value.todo == "`frazil down` first."
    with pytest.raises(ConfigureError, match="it is with northwind") as turned:
        prepared_stack(home, {}, northwind=False)
    assert turned.value.todo.endswith("data stays.")

    part.unlink()  # as `frazil down` leaves it
    prepared_stack(home, {"kafka": 19092}, northwind=False)

    assert recall(home.ports)["kafka"] == 19092
    assert "postgres" not in names_of_parts(known_stack(home))


@pytest.mark.parametrize("way", ["opened", "without northwind"])
def test_a_locked_stack_is_opened_for_northwind_or_goes_on_without(home: Home, way: str) -> None:
    prepared_stack(home, {}, locked=True)
    with pytest.raises(ConfigureError, match="locked stack") as raised:
        prepared_stack(home, {}, northwind=True)
    assert raised.value.todo == "`frazil up --no-secure`, or `frazil up --without northwind`."

    if way == "opened":
        stack = prepared_stack(home, {}, locked=False, northwind=True)
        assert "postgres" in names_of_parts(stack)
    else:
        stack = prepared_stack(home, {}, northwind=False)
        assert stack.locked


def test_a_part_is_named_as_the_stack_has_it(home: Home) -> None:
    stack = prepared_stack(home, {})
    with pytest.raises(UsageError, match="no part kafak") as raised:
        stack.status(["kafak"])
    names = raised.value.todo.removeprefix("Its parts are ").rstrip(".").split(", ")

    assert [each.name for each in stack.status(names[:1])] == names[:1]


def test_a_database_that_is_not_there_comes_with_the_option_that_is_named(home: Home) -> None:
    with pytest.raises(PartDownError, match="no database") as raised:
        change_rows(home, DEFAULTS, count=1)
    assert raised.value.todo == "`frazil up --with northwind` starts one."

    prepared_stack(home, {}, northwind=True)
    with pytest.raises(PartDownError, match="does not answer") as silent:
        change_rows(home, {**DEFAULTS, "postgres": 1}, count=1)  # nobody started it
    assert "`frazil status`" in silent.value.todo


def test_a_lock_of_jars_that_is_restored_is_read(tmp_path: Path) -> None:
    lock = tmp_path / "jars.lock"
    with pytest.raises(ConfigureError, match="can't be read") as raised:
        read_lock(lock)
    assert "git" in raised.value.todo

    lock.write_text(jars.LOCK.read_text())

    assert read_lock(lock) == read_lock()


def test_a_jar_that_the_network_kept_back_is_fetched_by_the_next_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "_TRIES", 1)
    fails = [True]

    class Artifact:
        filename = "thing-1.0.jar"
        cached_path = tmp_path / "thing-1.0.jar"

        def resolve(self) -> Path:
            if fails:
                raise OSError("no route to host")
            self.cached_path.write_bytes(b"jar")
            return self.cached_path

    def fetch(_: Any) -> Path:
        return jars._fetch(Artifact())

    here = Jars(
        tmp_path / "cache", [Jar("kafka", "org.example:thing:1.0", hashlib.sha256(b"jar").hexdigest())], fetch
    )
    with pytest.raises(RetryError, match="can't be fetched") as raised:
        here.paths("kafka")
    assert raised.value.todo.endswith("try again.")

    fails.clear()

    assert here.paths("kafka")[0].read_bytes() == b"jar"
