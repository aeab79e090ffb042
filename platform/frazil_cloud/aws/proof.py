"""Rights are proved by use: each function calls what a table's writer calls, and leaves nothing behind."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from frazil_cloud.aws.client import GoneError, ThereError

_PROBE = "frazil_verify"


def try_objects(s3: Any, bucket: str, folder: str) -> None:
    """Writes, tags, reads and deletes an object in a folder of a bucket; begins and aborts an upload."""
    at = {"Bucket": bucket, "Key": f"{folder}/.{_PROBE}_{uuid.uuid4().hex}"}
    s3.get_bucket_location(Bucket=bucket)
    s3.list_objects_v2(Bucket=bucket, Prefix=at["Key"])
    s3.put_object(**at, Body=b"verify")
    s3.put_object_tagging(**at, Tagging={"TagSet": []})
    s3.get_object(**at)["Body"].close()
    s3.delete_object(**at)
    upload = s3.create_multipart_upload(**at)["UploadId"]
    s3.list_multipart_uploads(Bucket=bucket, Prefix=at["Key"])
    s3.list_parts(**at, UploadId=upload)
    s3.abort_multipart_upload(**at, UploadId=upload)


def try_tables(glue: Any, database: str) -> None:
    """Makes, changes, reads and deletes a table that is none, in a database that is there."""
    table = {"Name": _PROBE}
    with suppress(ThereError):
        glue.create_database(DatabaseInput={"Name": database})
    glue.get_databases()
    glue.get_database(Name=database)
    with suppress(GoneError):  # of a try that died
        glue.delete_table(DatabaseName=database, **table)
    glue.create_table(DatabaseName=database, TableInput=table)
    glue.update_table(DatabaseName=database, TableInput=table)
    glue.get_table(DatabaseName=database, **table)
    glue.get_tables(DatabaseName=database)
    glue.delete_table(DatabaseName=database, **table)


def try_clients(secrets: Any, ssm: Any, names: Iterable[str], path: str) -> None:
    """Reads what clients log in with."""
    ssm.get_parameters_by_path(Path=path, Recursive=True)
    for name in names:
        secrets.get_secret_value(SecretId=name)
