"""Good schemas of each format, of a few fields each, for tests that break them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from random import Random
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from frazil.formats.protobuf.descriptors import MAIN, compiled
from kit.drawn.mutation import Mutator
from kit.formats.avro_cases import AVRO
from kit.formats.json_cases import DEFINED, JSON, MONEY
from kit.formats.protobuf import proto
from kit.formats.protobuf_cases import INTRO, PROTOBUF, TYPES

__all__ = ["BROKEN", "LAST", "avro_tree", "json_tree", "protobuf_text"]

LAST = {"name": "last", "type": "other.Shared", "doc": "What others define."}
"""The field that refers to another schema."""
_SERIALIZED, _COMPILED = 0.3, 50
"""Of Protobuf's schemas, the share that is serialized; and how many of these are compiled to be broken."""
_SHARED = {"type": "record", "name": "Shared", "namespace": "other", "fields": [{"name": "n", "type": "int"}]}
_IMPORTED = 'syntax = "proto3"; package other; message Shared { int32 n = 1; }'

Dependencies = tuple[tuple[str, str], ...]
Broken = Callable[[Mutator], tuple[str, Dependencies]]
"""Makes the text of a schema, and those that it refers to by name; either may be broken."""


def avro_tree(random: Random, most: int = 5) -> dict[str, Any]:
    """A record of some of the fields of the conformance tests."""
    cases = random.sample(AVRO.cases, random.randint(1, most))
    used = {"type_used_again", "union_of_used"}
    fields = [{"name": c.name, "type": c.schema, "default": None} for c in cases if c.name not in used]
    return {"type": "record", "name": "n.Root", "fields": [*fields, LAST]}


def json_tree(random: Random, most: int = 5) -> dict[str, Any]:
    """An object of some of the properties of the conformance tests."""
    cases = random.sample(JSON.cases, random.randint(1, most))
    properties = {c.name: c.schema for c in cases}
    properties |= {"told": {"type": "integer", "description": "How many."}}
    return {"type": "object", "properties": properties, "required": list(properties), **DEFINED}


def protobuf_text(random: Random, most: int = 5) -> str:
    """A message of some of the fields of the conformance tests."""
    numbers = iter(range(1, 1000))
    lines = [
        c.schema.format(*(next(numbers) for _ in range(c.schema.count("{} ") + c.schema.count("{};"))))
        for c in random.sample(PROTOBUF.cases, random.randint(1, most))
    ]
    head = INTRO + 'import "other/shared.proto";\n'
    return f"{head}message Wide {{ {' '.join(lines)} other.Shared shared = 5000; }}\n{TYPES}"


def _avro(mutator: Mutator) -> tuple[str, Dependencies]:
    return mutator.document(avro_tree(mutator.random)), _dependency(mutator, "other.Shared", _SHARED)


def _json(mutator: Mutator) -> tuple[str, Dependencies]:
    return mutator.document(json_tree(mutator.random)), _dependency(mutator, "money.json", MONEY)


def _dependency(mutator: Mutator, name: str, tree: Any) -> Dependencies:
    broken = mutator.random.random() < 0.2
    name = mutator.word() if mutator.random.random() < 0.05 else name
    return ((name, mutator.document(tree) if broken else json.dumps(tree)),)


def _protobuf(mutator: Mutator) -> tuple[str, Dependencies]:
    dice = mutator.random
    kind = dice.random()
    good = protobuf_text(dice if kind > _SERIALIZED else Random(dice.randrange(_COMPILED)))
    text = _serialized(mutator, good) if kind < _SERIALIZED else good if kind < 0.5 else mutator.text(good)
    imported = mutator.text(_IMPORTED) if dice.random() < 0.2 else _IMPORTED
    name = mutator.word() if dice.random() < 0.1 else "other/shared.proto"
    return text, ((name, imported),)


def _serialized(mutator: Mutator, text: str) -> str:
    """What Python clients register: a descriptor in base64."""
    whole = FileDescriptorSet.FromString(compiled(proto(text, **{"other/shared.proto": _IMPORTED}), "test"))
    file = next(f for f in whole.file if f.name == MAIN)
    dice = mutator.random
    try:
        match dice.randrange(4):
            case 0:
                file.dependency.append(mutator.word())
            case 1:
                dice.choice(list(file.message_type)).name = mutator.word()
            case 2:
                field = dice.choice(list(file.message_type[0].field))
                field.name, field.type_name = mutator.word(), mutator.word()
            case _:
                field = dice.choice(list(file.message_type[0].field))
                field.number = dice.choice((0, -1, 19_000, 2**29, 2**31 - 1))
    except (ValueError, UnicodeError):  # protobuf takes no half of a surrogate pair
        pass
    raw = file.SerializeToString()
    return base64.b64encode(mutator.raw(raw) if dice.random() < 0.5 else raw).decode()


BROKEN: dict[str, Broken] = {"AVRO": _avro, "JSON": _json, "PROTOBUF": _protobuf}
"""By the registry's name of the format."""
