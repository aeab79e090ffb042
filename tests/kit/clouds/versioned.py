"""A bucket that keeps versions of files that are deleted or written over."""

from __future__ import annotations

from typing import Any

from frazil.settings.identity import aws_session
from frazil.settings.profile import Settings


def s3_client(settings: Settings) -> Any:
    """Botocore's client of the stack's S3."""
    return aws_session(settings.aws).create_client("s3", endpoint_url=settings.s3_endpoint)


def versioned_bucket(settings: Settings, name: str) -> str:
    """Makes a bucket that does, and returns its name."""
    bucket = name.replace("_", "-")
    client = s3_client(settings)
    client.create_bucket(Bucket=bucket)
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    return bucket


def remove_versions(settings: Settings, bucket: str) -> int:
    """Deletes all versions that nobody sees any more, as a lifecycle rule does; returns how many."""
    client = s3_client(settings)
    listed = client.list_object_versions(Bucket=bucket)
    old = [each for each in listed.get("Versions", []) if not each["IsLatest"]]
    for each in old:
        client.delete_object(Bucket=bucket, Key=each["Key"], VersionId=each["VersionId"])
    return len(old)
