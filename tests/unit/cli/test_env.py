"""`frazil env` has what other programs need to reach the stack, not only Frazil."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from botocore.session import Session

from kit.runs.shell import Command

PROFILE = {
    "aws": {"access_key": "AKID", "secret_key": "secret", "region": "eu-central-1"},
    "s3": {"endpoint": "http://127.0.0.1:1"},
    "glue": {"endpoint": "http://127.0.0.1:2"},
    "dagster_home": "/dagster",
}


def test_boto3_finds_region_keys_and_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It knew no region: botocore reads AWS_DEFAULT_REGION alone."""
    (tmp_path / "profile.json").write_text(json.dumps(PROFILE))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.delenv("AWS_PROFILE", raising=False)

    result = Command(monkeypatch, capsys)("env", FRAZIL_HOME=str(tmp_path))
    for line in result.out.splitlines():
        name, _, value = line.removeprefix("export ").partition("=")
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)

    client = Session().create_client("s3")
    assert (result.code, client.meta.region_name) == (0, "eu-central-1")
    assert client.meta.endpoint_url == "http://127.0.0.1:1"
