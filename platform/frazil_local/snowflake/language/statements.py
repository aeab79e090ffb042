"""The statements that the stand-in adds to fakesnow, as frozen objects; parsing.py makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "USER",
    "ROLE",
    "WAREHOUSE",
    "EXTERNAL VOLUME",
    "CATALOG INTEGRATION",
    "SECURITY INTEGRATION",
    "ICEBERG TABLE",
    "LINKED DATABASE",
    "TAG",
    "MASKING POLICY",
    "DATABASE",
    "SCHEMA",
    "TABLE",
    "VIEW",
]
RELATIONS: tuple[Kind, ...] = ("DATABASE", "SCHEMA", "TABLE", "VIEW")
"""What fakesnow makes and drops; where privileges count, the account keeps who owns each, and its comment."""

Name: TypeAlias = tuple[str, ...]
"""The parts of an object's name; unquoted parts are in upper case already."""

Value: TypeAlias = "str | Mapping[str, Value] | tuple[Value, ...]"
Properties: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Create:
    """`CREATE [OR REPLACE] <kind> [IF NOT EXISTS] <name> <properties>`."""

    kind: Kind
    name: Name
    properties: Properties = field(default_factory=dict)
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class Alter:
    """`ALTER <kind> [IF EXISTS] <name> SET <properties>`, or `UNSET <names>`."""

    kind: Kind
    name: Name
    assigned: Properties = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    """`DROP <kind> [IF EXISTS] <name>`; `plain` if it said `DROP TABLE`."""

    kind: Kind
    name: Name
    if_exists: bool = False
    plain: bool = False


@dataclass(frozen=True, slots=True)
class DropDatabase:
    """`DROP DATABASE [IF EXISTS] <name>`, which fakesnow can't on files."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Describe:
    """`DESC[RIBE] <kind> <name>`; `plain` if it said `DESC TABLE`."""

    kind: Kind
    name: Name
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Refresh:
    """`ALTER ICEBERG TABLE [IF EXISTS] <name> REFRESH`."""

    name: Name
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetTags:
    """`ALTER ICEBERG TABLE <name> [MODIFY COLUMN <column>] SET TAG <tag> = '<value>', ...`."""

    name: Name
    tags: tuple[tuple[Name, str], ...]
    column: str = ""


@dataclass(frozen=True, slots=True)
class GetTags:
    """`SELECT SYSTEM$GET_TAG('<tag>', '<table>', 'table'), ...`: each tag with the table, and a column."""

    asked: tuple[tuple[Name, Name, str], ...]


@dataclass(frozen=True, slots=True)
class SetPolicy:
    """`ALTER ICEBERG TABLE <name> MODIFY COLUMN <column> SET MASKING POLICY <policy> [FORCE]`, or UNSET."""

    name: Name
    column: str
    policy: Name = ()


@dataclass(frozen=True, slots=True)
class Show:
    """`SHOW <kinds> [LIKE <pattern>] [IN [ACCOUNT | DATABASE | SCHEMA] <name>]`."""

    kind: Kind
    like: str | None = None
    scope: Name = ()


@dataclass(frozen=True, slots=True)
class Grant:
    """`GRANT <privileges> ON <kind> <name> TO ROLE <name>`, or `REVOKE ... FROM ROLE`.

    A granted role has the privilege USAGE on the kind ROLE. `option`: it may be passed on; of a REVOKE, this
    right alone is taken away.
    """

    privileges: tuple[str, ...]
    on_kind: str
    on_name: Name
    to_kind: Literal["ROLE", "USER"]
    to_name: str
    revoke: bool = False
    option: bool = False


@dataclass(frozen=True, slots=True)
class ShowGrants:
    """`SHOW [FUTURE] GRANTS TO ROLE|USER <name>`, or `ON <kind> <name>`, or `OF ROLE <name>`."""

    relation: Literal["TO", "ON", "OF"]
    kind: str
    name: Name
    future: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """`USE ROLE|WAREHOUSE <name>`."""

    kind: Literal["ROLE", "WAREHOUSE"]
    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """`SELECT SYSTEM$<function>('<argument>')`."""

    function: str
    argument: str
    column: str


@dataclass(frozen=True, slots=True)
class Calls:
    """Several of them in one row; `counted`: a table whose rows are counted beside the first."""

    calls: tuple[Call, ...]
    counted: Name = ()


@dataclass(frozen=True, slots=True)
class Refreshes:
    """When tables were refreshed last, each with what it is called in the answer."""

    asked: tuple[tuple[str, Name], ...]


@dataclass(frozen=True, slots=True)
class Current:
    """`SELECT CURRENT_ROLE(), ...`: what the session is."""

    functions: tuple[str, ...]


Statement: TypeAlias = (
    Create
    | Alter
    | Drop
    | DropDatabase
    | Describe
    | Refresh
    | SetTags
    | SetPolicy
    | GetTags
    | Show
    | Grant
    | ShowGrants
    | Use
    | Call
    | Calls
    | Refreshes
    | Current
)
