"""Prints what CHANGELOG.md says of a version; fails where a tag, the package and the changelog disagree."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def notes(changelog: str, version: str) -> str:
    """The section of a version, without its heading; raises LookupError where there is no text."""
    sections = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    texts = (section.partition("\n")[2].strip() for section in sections if section.startswith(f"[{version}]"))
    text = next(texts, "")
    if not text:
        raise LookupError(f"CHANGELOG.md has nothing under [{version}]")
    return text


def release(tag: str) -> str:
    """The notes of a tag such as `v1.2.3`; raises LookupError where the package has another version."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    if tag != f"v{version}":
        raise LookupError(f"the tag is {tag}, and pyproject.toml has version {version}")
    return notes((ROOT / "CHANGELOG.md").read_text(), version)


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{release(sys.argv[1])}\n")
    except LookupError as e:
        sys.exit(str(e))
