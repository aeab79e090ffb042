"""Writes the parts of the docs that the code knows: `make reference`.

A whole page, or a region of one between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from inspect import get_annotations
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ByteSize
from python_api import python_api
from rights import RIGHTS
from typer.main import get_command

from assets.checks import attention
from assets.deployments.checks import DRIFT, VERIFY
from assets.mistakes import CAN_BE_USED
from frazil import errors
from frazil.checks.run import checks_of
from frazil.cli.commands import Named
from frazil.cli.main import make_app
from frazil.doctor.run import SYSTEMS
from frazil.errors import FrazilError, SchemaRefusedError
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.protocol import VALUE, HalfSchemas, WriterSchema
from frazil.formats.types import as_stored, spark_type, to_iceberg
from frazil.publishing.targets import TARGETS
from frazil.settings.profile import Settings, fields, variable
from frazil.spec.checks import OwnCheck
from frazil.spec.derived import DerivedSpec, Feed, Window
from frazil.spec.fields import JsonField, OfFields, PlacedField
from frazil.spec.freshness import Budget, LandWhen
from frazil.spec.guard import ColumnMask, DeadLetterKeeping, Guarded
from frazil.spec.table import AnyTable, Write
from frazil.spec.topic import TableSpec
from frazil.spec.typed import OfTyped
from frazil.spec.upkeep import Upkeep
from frazil_cloud.spec.aws import AwsPart
from frazil_cloud.spec.confluent import CloudTopic, ConfluentPart, Connector, Statement, Tableflow
from frazil_cloud.spec.deployment import DeploymentSpec, RotationPart
from frazil_cloud.spec.snowflake import RestCatalogPart, SnowflakePart

DOCS = Path(__file__).parent
_NOTE = "<!-- Written by `make reference`: change the code, then run that. -->"
_REGION = re.compile(r"(<!-- generated: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def written() -> dict[Path, str]:
    """The text that each page with generated parts should have."""
    whole = {DOCS / "reference" / f"{name}.md": "\n".join(write()) + "\n" for name, write in _PAGES.items()}
    return whole | {DOCS / name: with_regions((DOCS / name).read_text()) for name in _PAGES_WITH_REGIONS}


def with_regions(text: str) -> str:
    """A page whose regions say what the code says."""
    return _REGION.sub(lambda match: match[1] + "\n".join(_region(match[2])) + "\n" + match[3], text)


def _region(name: str) -> Iterator[str]:
    if written := _WRITTEN.get(name):
        return written()
    what, _, of = name.rpartition(" ")
    return _types(of) if what == "types" else _fields(of) if what == "fields" else _settings(name)


def _settings(system: str) -> Iterator[str]:
    """The settings of one system; those of none are `general`."""
    yield from ("", "| variable | what it is | default |", "|---|---|---|")
    for path, field in fields():
        above = ".".join(path[:-1]) or "general"
        if above == system or (system == "alarms" and above.startswith("alarms.")):
            yield f"| `{variable(path)}` | {field.description} | {_default(field.get_default())} |"
    yield ""


def _default(value: Any) -> str:
    if value is None or value == "" or repr(value).startswith("PydanticUndefined"):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _fields(model: str) -> Iterator[str]:
    """The fields that a part of a spec has of its own."""
    (part,) = (each for each in SPECS if each.__name__ == model)
    yield from ("", "| field | what it is | default |", "|---|---|---|")
    for name in get_annotations(part):
        field = part.model_fields[name]
        default = (
            "required" if field.is_required() else _as_yaml(field.get_default(call_default_factory=True))
        )
        yield f"| `{field.alias or name}` | {field.description} | {default} |"
    yield ""


def _as_yaml(value: Any) -> str:
    """A default as people write it in a defs.yaml."""
    match value:
        case BaseModel():
            return "see below"
        case ByteSize():
            return f"`{value.human_readable().replace('.0', '')}`"
        case timedelta():
            return f"`{_duration(int(value.total_seconds()))}`"
        case tuple() | Mapping():
            return f"`[{', '.join(value)}]`" if value else ""
        case _:
            return _default(value)


def _duration(seconds: int) -> str:
    units = {"d": 86400, "h": 3600, "m": 60}
    fitting = (f"{seconds // size}{unit}" for unit, size in units.items() if seconds and seconds % size == 0)
    return next(fitting, f"{seconds}s")


def _commands() -> Iterator[str]:
    group = get_command(make_app())
    yield from ("# Commands", "", _NOTE, "")
    yield "`frazil --help` lists the commands, and `frazil COMMAND --help` shows what this page shows."
    yield "[Exit codes](errors.md#exit-codes) are the same for all of them."
    yield from _subcommands(group, "frazil")


def _subcommands(group: Any, above: str) -> Iterator[str]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        command = command.load() if isinstance(command, Named) else command
        if hasattr(command, "list_commands"):
            yield from _subcommands(command, f"{above} {name}")
        elif not command.hidden:
            yield from _command(command, f"{above} {name}")


def _command(command: Any, name: str) -> Iterator[str]:
    shown = [each for each in command.params if not getattr(each, "hidden", False)]
    arguments = [each for each in shown if each.param_type_name == "argument"]
    options = ["[OPTIONS]"] if len(shown) > len(arguments) else []
    yield from ("", f"## {name}", "", _cell(command.help or ""), "")
    yield from (
        "```",
        " ".join([name, *map(_usage, arguments), *options]),
    )
    yield "```"
    if shown:
        yield from ("", "| | what it is | default |", "|---|---|---|")
        yield from map(_parameter, shown)


def _usage(argument: Any) -> str:
    name = (argument.metavar or argument.name.upper()).removesuffix("...") + "..." * (argument.nargs == -1)
    return name if argument.required else f"[{name}]"


def _parameter(each: Any) -> str:
    if each.param_type_name == "argument":
        return f"| `{_usage(each)}` | {_cell(each.help or '')} | |"
    names = ", ".join(f"`{name}`" for name in (*each.opts, *each.secondary_opts))
    value = "" if each.is_flag else f" `{each.metavar or each.name.upper()}`"
    default = each.default if each.show_default is True and not callable(each.default) else None
    return f"| {names}{value} | {_cell(each.help or '')} | {'' if each.is_flag else _default(default)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _errors() -> Iterator[str]:
    yield from ("# Errors and exit codes", "", _NOTE, "")
    yield "Each error has a class, which decides the exit code. The [runbook](../runbook.md) helps."
    yield from ("", "## Exit codes", "", "| code | what it means | errors |", "|---|---|---|")
    for code, what in _CODES.items():
        named = ", ".join(f"`{each.__name__}`" for each in classes() if each.exit_code == code)
        yield f"| {code} | {what} | {named} |"
    yield from ("", "## Errors", "", "| error | exit code | what it means |", "|---|---|---|")
    for each in classes():
        link = f"[`{each.__name__}`](../runbook.md#{each.__name__.lower()})"
        yield f"| {link} | {each.exit_code} | {_cell((each.__doc__ or '').splitlines()[0])} |"


_CODES = {
    0: "The work is done, or there was nothing to do.",
    1: "The work failed.",
    2: "The command, a setting or a pipeline's file is wrong.",
    3: "A table is suspended, or stopped: a person has to decide. `frazil deploy drift`: something differs.",
    4: "Somebody else was faster, and this run was dropped.",
    5: "A server does not answer, or the doctor misses a right.",
    85: "An argument of `frazil deploy` or `frazil rotate` is wrong.",
    130: "Ctrl-C ended the command.",
}


def classes() -> list[type[FrazilError]]:
    """Every error, in the order of `errors.py`."""
    named = (each for each in vars(errors).values() if isinstance(each, type))
    return [each for each in named if issubclass(each, FrazilError)]


def _checks() -> Iterator[str]:
    yield from ("# Checks", "", _NOTE, "")
    yield "`frazil check TABLE` runs a table's checks, and `--deep` adds those that read the data. While a"
    yield "blocking check fails, the assets behind it stay at the last good state. The"
    yield "[runbook](../runbook.md#checks) says what to do."
    limits = {"iceberg": "1m", "glue": "2m", "snowflake": "5m"}
    shown = ("glue", "snowflake", "views")
    topic = TableSpec(topic="t", on_bad_record="dead_letter", fresh_within=limits, publish=shown)
    yield from _table_of_checks("Tables made of topics", topic)
    derived = DerivedSpec(table="t", sql=Path("t.sql"), fresh_within=limits)
    yield from _table_of_checks("Tables made of tables", derived)
    yield from ("", "## Others", "", "| check | asset | what it compares |", "|---|---|---|")
    yield f"| `{CAN_BE_USED}` | `pipelines/<name>` | The files of a pipeline hold no mistake. |"
    yield f"| `{attention.CHECK}` | `late_and_broken` | Nothing is late or broken in any pipeline. |"
    access = ", ".join(f"`{system}_access`" for system in SYSTEMS)
    yield f"| {access} | the first asset that needs the system | The system grants each right needed. |"
    yield f"| `{VERIFY}` | each object of a deployment | The object works when it is used. |"
    yield f"| `{DRIFT}` | each object of a deployment | The object is as the deployment's file says. |"


def _table_of_checks(title: str, spec: TableSpec | DerivedSpec) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from ("| check | asset | what it compares | blocks | reads the data |", "|---|---|---|---|---|")
    for each in checks_of(spec, Settings()).values():
        blocks, deep = ("yes" if fact else "" for fact in (each.blocking, each.deep))
        yield f"| `{each.name}` | {each.asset[0]} | {each.description} | {blocks} | {deep} |"


def _types(form: str) -> Iterator[str]:
    """What each type of a format becomes, by the code that makes the columns."""
    systems = ["Iceberg", "Spark", *(word.capitalize() for word in _WITH_TYPES)]
    head = ["in the schema", *systems, "Tableflow", "why not here"]
    yield from ("", f"| {' | '.join(head)} |", "|---" * len(head) + "|")
    for place, each in enumerate(examples()[form]):
        theirs = [each.get("tableflow", "the same"), each.get("why", "")]
        yield f"| {' | '.join([each['says'], *_column(type_example(form, place), len(systems)), *theirs])} |"
    yield ""


def _column(schemas: HalfSchemas, systems: int) -> list[str]:
    """The only column of an example as each system shows it."""
    try:
        (column,) = schemas.columns
    except SchemaRefusedError as e:
        why = e.what.removeprefix("The schema can't become a table: ")
        return [f"refused: {why.removesuffix('.')}", *[""] * (systems - 1)]
    (stored,), (field,) = as_stored([column]), to_iceberg([column]).fields
    targets = [target(TableSpec(topic="t"), Settings()) for target in _WITH_TYPES.values()]
    others = [spark_type(column.type), *(target.column_type(field.field_type) for target in targets)]
    optional = ", optional" if column.optional else ""
    return [f"`{stored.type}`{optional}", *(f"`{other.replace('`', '')}`" for other in others)]


def examples() -> dict[str, Any]:
    """What types.yaml says."""
    by_form: dict[str, Any] = yaml.safe_load((DOCS / "types.yaml").read_text())
    return by_form


def type_example(form: str, place: int) -> HalfSchemas:
    """A schema whose only field, `f`, is the example of that place."""
    example, record = examples()[form][place]["example"], None
    match form:
        case "avro":
            text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "f", "type": example}]})
        case "json":
            text = json.dumps({"type": "object", "properties": {"f": example}, "required": ["f"]})
        case _:  # all in one file: protoc takes as long for one of them
            messages = [f"message M{n} {{ {each['example']} }}" for n, each in enumerate(examples()[form])]
            text, record = "\n".join([examples()["proto"], *messages]), f"M{place}"
    writer = WriterSchema(0, 0, text, form.upper())
    return HalfSchemas(VALUE, SCHEMA_FORMATS[writer.kind], form, (writer,), record_type=record)


_WITH_TYPES = {word: target for word, target in TARGETS.items() if word != "views"}
"""Targets with types of their own."""

_PAGES: Mapping[str, Callable[[], Iterator[str]]] = {
    "commands": _commands, "errors": _errors, "checks": _checks,
}  # fmt: skip
_PAGES_WITH_REGIONS = (
    "settings.md", "monitoring.md", "lineage.md", "types.md", "spec.md", "derive.md", "cloud.md",
    "permissions.md", "python.md",
)  # fmt: skip
_WRITTEN: Mapping[str, Callable[[], Iterator[str]]] = {**RIGHTS, "python": python_api}
"""Regions that modules beside this one write."""

SPECS: Sequence[type[BaseModel]] = (
    TableSpec, AnyTable, Guarded, ColumnMask, DeadLetterKeeping, OfFields, PlacedField, JsonField, OfTyped,
    OwnCheck, LandWhen, Budget, Write, Upkeep,
    DerivedSpec, Window, Feed,
    DeploymentSpec, ConfluentPart, CloudTopic, Connector, Statement, AwsPart, SnowflakePart, RestCatalogPart,
    RotationPart, Tableflow,
)  # fmt: skip
"""The parts of specs whose fields the docs list."""

if __name__ == "__main__":
    for page, text in written().items():
        page.write_text(text)
