"""What a spec tells people of a table, as the comment of its views in Snowflake.

An Iceberg table of another catalog takes no comment after it was made (docs.snowflake.com, "ALTER ICEBERG
TABLE"), and a tag is an object that an administrator makes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from frazil.publishing.labels import Labels
from frazil.publishing.snowflake.connection import rows
from frazil.publishing.snowflake.statements import Relation, comment_on_view, comments_in
from frazil.spec.table import AnyTable

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection


def comment_of(spec: AnyTable) -> str:
    """Description and owners in one text; empty where the spec says neither: then others may comment."""
    owners = f"Owners: {', '.join(spec.owners)}." if spec.owners else ""
    return " ".join(filter(None, (" ".join(spec.description.split()), owners)))


def as_labels(comments: Mapping[str, str]) -> Labels:
    """Comments by the views' names, as they are compared."""
    return {f"comment of {name}": text for name, text in comments.items()}


def comments_of(connection: SnowflakeConnection, views: Sequence[Relation]) -> dict[str, str]:
    """What the views of one schema say, by their names, in one statement; empty where they say nothing."""
    listed = rows(connection, comments_in(views[0].database, views))
    comments = {str(name): str(text or "") for _, name, text in listed}
    return {view.name: comments.get(view.name, "") for view in views}


def keep_comments(connection: SnowflakeConnection, views: Sequence[Relation], wanted: str) -> None:
    """Comments on the views that say something else."""
    comments = comments_of(connection, views)
    for view in (view for view in views if comments[view.name] != wanted):
        rows(connection, comment_on_view(view, wanted))
