"""AWS' own client of the embedded stack's storage."""

from __future__ import annotations

from typing import Any

import boto3

from frazil.settings.profile import Settings

__all__ = ["storage_client"]


def storage_client(settings: Settings, service: str = "s3") -> Any:
    """One that asks by the keys of the profile; `s3tables` has the buckets of tables."""
    assert settings.aws.access_key
    assert settings.aws.secret_key
    return boto3.client(
        service,
        endpoint_url=settings.s3_endpoint,
        region_name=settings.aws.region,
        aws_access_key_id=settings.aws.access_key.get_secret_value(),
        aws_secret_access_key=settings.aws.secret_key.get_secret_value(),
    )
