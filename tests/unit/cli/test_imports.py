"""Libraries import whatever they find; a command goes without what it does not use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from frazil.cli.imports import CALLED, LATE, UNUSED

# What is imported stays, so each command's imports are seen in a process of their own.
IMPORTS = """
import importlib, json, sys
from frazil.cli.imports import lean

with lean():
    for name in json.loads(sys.argv[1]):
        importlib.import_module(name)
    kept_away = [name for name in json.loads(sys.argv[2]) if name not in sys.modules]
    for name in json.loads(sys.argv[3]):
        importlib.import_module(name)
print(json.dumps(kept_away))
"""


def kept_away(imports: list[str], unused: list[str], used: list[str]) -> list[str]:
    """What of some unused modules is not imported along with others, where more are imported after."""
    arguments = [json.dumps(each) for each in (imports, unused, used)]
    command = [sys.executable, "-c", IMPORTS, *arguments]
    modules: list[str] = json.loads(subprocess.check_output(command, text=True, timeout=300))
    return modules


@pytest.mark.parametrize(
    ("imports", "unused", "used"),
    [
        (["snowflake.connector"], ["pandas", "pyarrow", "numpy", "packaging.requirements"], ["pandas"]),
        (["botocore.session"], ["urllib3.contrib.pyopenssl"], ["urllib3.contrib.pyopenssl"]),
        (["confluent_kafka.schema_registry"], ["h2", "authlib"], ["h2", "authlib.integrations.httpx_client"]),
        (["pyiceberg.catalog.rest"], (late := ["pyparsing", "strictyaml.parser"]), late),
    ],
)
def test_a_library_goes_without_what_no_command_uses_and_others_still_find_it(
    imports: list[str], unused: list[str], used: list[str]
) -> None:
    assert kept_away(imports, unused, used) == unused


def test_every_module_that_goes_without_something_is_there_or_is_the_other_name_of_one() -> None:
    from importlib.util import find_spec

    named = {*UNUSED, *LATE, *CALLED, *(module for module, _ in CALLED.values())}
    roots = {name.partition(".")[0] for name in named}
    installed = {root for root in roots if find_spec(root)}
    assert roots - installed <= {"httpcore", "httpcore2"}
    assert [n for n in named if n.partition(".")[0] in installed and find_spec(n) is None] == []


USES = """
import sys
from frazil.cli.imports import lean

with lean():
    from pyiceberg.expressions import GreaterThan
    from pyiceberg.table import _parse_row_filter
    from pyiceberg.utils.config import Config
    from confluent_kafka.schema_registry._sync.schema_registry_client import _OAuthClient
    from confluent_kafka.schema_registry._async.schema_registry_client import _AsyncOAuthClient

before = {"pyparsing", "authlib"} & set(sys.modules)
told = ("user", "secret", "scope", "http://localhost/token", "lsrc-1", 0, 0, 0)
clients = [type(make(*told).client).__name__ for make in (_OAuthClient, _AsyncOAuthClient)]
print(before, _parse_row_filter("a > 3") == GreaterThan("a", 3), Config().config["max-workers"], clients)
"""
"""Uses everything that is late, once it was imported."""


def test_what_comes_late_is_there_where_it_is_used(tmp_path: Path) -> None:
    (tmp_path / ".pyiceberg.yaml").write_text("max-workers: 3\n")
    own = {**os.environ, "PYICEBERG_HOME": str(tmp_path)}
    output = subprocess.check_output([sys.executable, "-c", USES], text=True, timeout=300, env=own)
    assert output == "set() True 3 ['OAuth2Client', 'AsyncOAuth2Client']\n"


# What is registered first runs last: it sees what Python would look at for garbage.
ENDING = """
import atexit, gc
atexit.register(lambda: print("left to look at:", len(gc.get_objects()) // 1000, "thousand"))
from frazil.cli.main import run
run()
"""


def test_a_command_that_ends_leaves_python_no_garbage_to_look_for() -> None:
    command = [sys.executable, "-c", ENDING, "--help"]
    output = subprocess.check_output(command, text=True, timeout=300)
    assert output.splitlines()[-1] == "left to look at: 0 thousand"


EARLY = """
import sys
import pandas
from frazil.cli.imports import lean

with lean():
    before = "packaging.requirements" in sys.modules
    from snowflake.connector import options
    from packaging.requirements import Requirement
print(before, options.installed_pandas, options.Requirement("a").name, isinstance(Requirement, type))
"""
"""Imports pandas before Snowflake's connector, as a landing does: then that looks at versions at once."""


def test_what_comes_late_may_be_used_while_it_is_being_imported() -> None:
    output = subprocess.check_output([sys.executable, "-c", EARLY], text=True, timeout=300)
    assert output == "False True a True\n"
