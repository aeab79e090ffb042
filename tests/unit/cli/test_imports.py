"""Libraries import whatever they find; a command goes without what it does not use."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from frazil.cli.imports import UNUSED

# What is imported stays, so each command's imports are seen in a process of their own.
IMPORTS = """
import importlib, json, sys
from frazil.cli.imports import lean

with lean():
    for name in json.loads(sys.argv[1]):
        importlib.import_module(name)
    kept_away = [name for name in json.loads(sys.argv[2]) if name not in sys.modules]
    importlib.import_module(json.loads(sys.argv[3]))
print(json.dumps(kept_away))
"""


def kept_away(imports: list[str], unused: list[str], used: str) -> list[str]:
    """What of some unused modules is not imported along with others, where one more is imported after."""
    told = [json.dumps(each) for each in (imports, unused, used)]
    command = [sys.executable, "-c", IMPORTS, *told]
    found: list[str] = json.loads(subprocess.check_output(command, text=True, timeout=300))
    return found


@pytest.mark.parametrize(
    ("imports", "unused", "used"),
    [
        (["snowflake.connector"], ["pandas", "pyarrow", "numpy"], "pandas"),
        (["botocore.session"], ["urllib3.contrib.pyopenssl"], "urllib3.contrib.pyopenssl"),
        (["confluent_kafka.schema_registry"], ["h2"], "h2"),
    ],
)
def test_a_library_goes_without_what_no_command_uses_and_others_still_find_it(
    imports: list[str], unused: list[str], used: str
) -> None:
    assert kept_away(imports, unused, used) == unused


def test_every_module_that_goes_without_something_is_there_or_is_the_other_name_of_one() -> None:
    from importlib.util import find_spec

    roots = {name.partition(".")[0] for name in UNUSED}
    found = {root for root in roots if find_spec(root)}
    assert roots - found <= {"httpcore", "httpcore2"}
    assert [n for n in UNUSED if n.partition(".")[0] in found and find_spec(n) is None] == []


# What is registered first runs last: it sees what Python would look at for garbage.
ENDING = """
import atexit, gc
atexit.register(lambda: print("left to look at:", len(gc.get_objects()) // 1000, "thousand"))
from frazil.cli.main import run
run()
"""


def test_a_command_that_ends_leaves_python_no_garbage_to_look_for() -> None:
    command = [sys.executable, "-c", ENDING, "--help"]
    told = subprocess.check_output(command, text=True, timeout=300)
    assert told.splitlines()[-1] == "left to look at: 0 thousand"
