"""`frazil init` and `frazil validate`: a user's own repository of pipelines."""

from __future__ import annotations

import json
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit, urlunsplit

import typer

from frazil.cli.console import console, print_json
from frazil.cli.results import Results
from frazil.cli.selection import Json, select
from frazil.errors import UsageError

app = typer.Typer()

TEMPLATES = {
    "README.md": "README.md",
    "settings.env": "settings.env",
    "requirements.txt": "requirements.txt",
    "produce_orders.py": "produce_orders.py.txt",
    "dg.toml": "dg.toml",
    ".gitignore": "gitignore",
    ".github/workflows/check.yml": "check.yml",
    "pipelines/shop/defs.yaml": "defs.yaml",
    "pipelines/shop/orders.avsc": "orders.avsc",
    "pipelines/shop/dashboard.yaml": "dashboard.yaml",
}
"""The files of a new repository, and where each comes from in `frazil/cli/templates`."""
_REQUIREMENTS = "requirements.txt"
_NAME = "frazil"


@app.command("init")
def init_command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder. Files that are already there stay.")
    ],
    as_json: Json = False,
) -> None:
    """Make a repository of your own: a pipeline, its settings and a check for CI."""
    there = [name for name in TEMPLATES if (folder / name).exists()]
    if there:
        raise UsageError(
            f"{folder} has {', '.join(there)} already.",
            meaning="Nothing was written.",
            todo="Name another folder, or an empty one.",
        )
    requirement = own_requirement("dashboard,local")
    try:
        for name, source in TEMPLATES.items():
            _write(folder / name, source, requirement)
    except OSError as e:
        raise UsageError(
            f"{e.filename} can't be written: {e.strerror}.", todo="Name another folder."
        ) from None
    if as_json:
        print_json({"folder": str(folder.absolute()), "files": [*TEMPLATES]})
    else:
        console.print(f"{folder} has a pipeline with one topic. {folder / 'README.md'} says how to go on.")
        if is_local(requirement):
            console.print(
                f"{folder / 'requirements.txt'} names Frazil on this machine. CI, and other machines, need a "
                "release or a git address there."
            )


def _write(file: Path, source: str, requirement: str) -> None:
    text = (files("frazil.cli") / "templates" / source).read_text()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.replace("{requirement}", requirement) if source == _REQUIREMENTS else text)


@app.command("validate")
def validate_command(as_json: Json = False) -> None:
    """Read all pipelines and report every mistake with its line. Contacts no server."""
    selection = select((), every=True)
    results = Results[str](failed=dict(selection.broken))
    tables = [str(names.table) for _, names in selection.pairs]
    if as_json:
        mistakes = [{"pipeline": name, "error": error.document} for name, error in selection.broken.items()]
        print_json({"tables": tables, "mistakes": mistakes})
    else:
        console.print(
            f"Tables that can be used: {len(tables)}. Pipelines with mistakes: {len(selection.broken)}."
        )
    results.exit()


def own_requirement(extra: str) -> str:
    """Frazil with an extra: this version of an index, or the checkout, file or git address that it is of."""
    installed = distribution(_NAME)
    direct_url = installed.read_text("direct_url.json")  # PEP 610: written unless it came from an index
    return requirement_of(json.loads(direct_url) if direct_url else None, installed.version, extra)


def requirement_of(origin: dict[str, Any] | None, version: str, extra: str) -> str:
    """The same by the document of PEP 610, which says where a distribution came from; None is an index."""
    if origin is None:
        return f"{_NAME}[{extra}]=={version}"
    address, vcs = _without_login(origin["url"]), origin.get("vcs_info")
    where = f"{vcs['vcs']}+{address}@{vcs['commit_id']}" if vcs else address
    return f"{_NAME}[{extra}] @ {where}"


def is_local(requirement: str) -> bool:
    """Whether it names a folder or a file of this machine, which no other one has."""
    return " @ file:" in requirement


def _without_login(address: str) -> str:
    parts = urlsplit(address)
    user, _, host = parts.netloc.rpartition("@")
    keeps = f"{user}@" if user == "git" else ""  # the user of ssh://git@..., which is no secret
    return urlunsplit(parts._replace(netloc=f"{keeps}{host}"))
