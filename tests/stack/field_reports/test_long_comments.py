"""What modellers write of a field, and what a catalog has room for."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from frazil.publishing.glue import Glue
from kit.formats.formats import MakeSource, avro

DOC = "What the customer said at the counter,\nas the clerk has heard it, and wrote it down. " * 6


def test_a_long_comment_of_several_lines_is_cut_for_glue_and_stands_whole_beside(source: MakeSource) -> None:
    """https://github.com/apache/paimon/issues/8917: Glue takes 255 letters of a column's comment."""
    schema = {"type": "record", "name": "Output", "fields": [{"name": "said", "type": "string", "doc": DOC}]}
    topic = source(key_format="none", publish=["glue"])
    topic.produce((None, avro(schema, topic.register(schema), {"said": "yes"})))
    topic.land()
    target, client = Glue(topic.spec, topic.connections.settings), topic.connections.glue

    assert target.sync(topic.connections).changed

    entry = client.get_table(DatabaseName=target.database, Name=topic.things.table.table)["Table"]
    column = entry["StorageDescriptor"]["Columns"][0]
    assert column["Comment"] == DOC.replace("\n", " ")[:252] + "..."
    assert column["Parameters"]["frazil.comment"] == DOC
    assert topic.connections.catalog.load_table(topic.name).schema().find_field("said").doc == DOC
    with pytest.raises(ClientError, match="ValidationException"):
        client.create_database(DatabaseInput={"Name": "d" * 256})
