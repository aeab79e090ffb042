"""An S3 whose certificate an authority of one's own signed: `FRAZIL_S3__CA` names its file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from frazil.errors import ConfigureError
from frazil.settings.profile import Settings
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.client_properties import pyiceberg_properties
from frazil.tables.catalogs.file_io import LateFileIO
from frazil_local.authority import Authority
from kit.wires.lying import glue_in_process

PLACE = "s3://lake/a.bin"
KEY = "arn:aws:kms:eu-central-1:1:key/1"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"), "of the storage")


@pytest.fixture(scope="module")
def address(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with glue_in_process(tmp_path_factory.mktemp("s3"), authority) as url:
        identity = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
        s3 = boto3.client("s3", endpoint_url=url, verify=str(authority.file), **identity)
        s3.create_bucket(Bucket="lake")
        yield url


def settings_of(address: str, ca: Path | None, kms_key: str | None = None) -> Settings:
    s3 = {"endpoint": address, "ca": ca, "kms_key": kms_key}
    return Settings.load(s3=s3, aws={"access_key": "key", "secret_key": "secret"})


def files(settings: Settings) -> LateFileIO:
    keys = {"s3.access-key-id": "key", "s3.secret-access-key": "secret"}
    return LateFileIO(pyiceberg_properties(settings) | keys)


def is_written(settings: Settings) -> bool:
    io = files(settings)
    with io.new_output(PLACE).create(overwrite=True) as file:
        file.write(b"frozen")
    return bool(io.new_input(PLACE).open().read() == b"frozen")


@pytest.mark.parametrize("kms_key", [None, KEY], ids=["by PyArrow", "by obstore"])
def test_files_are_written_and_read(address: str, authority: Authority, kms_key: str | None) -> None:
    assert is_written(settings_of(address, authority.file, kms_key))


def test_another_authority_is_refused_and_the_setting_that_is_named_mends_it(
    address: str, authority: Authority, tmp_path: Path
) -> None:
    settings = settings_of(address, Authority(tmp_path / "other", "another").file)

    with (
        pytest.raises(ConfigureError, match="no known authority") as raised,
        catalog_errors(settings),
        files(settings).new_output(PLACE).create(overwrite=True) as file,
    ):
        file.write(b"lost")

    assert "FRAZIL_S3__CA" in raised.value.todo
    assert is_written(settings_of(address, authority.file))


def test_a_file_of_the_authority_that_is_not_there_is_named_and_the_right_one_mends_it(
    address: str, authority: Authority, tmp_path: Path
) -> None:
    with pytest.raises(ConfigureError, match="authority") as raised:
        pyiceberg_properties(settings_of(address, tmp_path / "none.pem"))

    assert str(tmp_path / "none.pem") in (raised.value.where or "")
    assert raised.value.todo == "Fix FRAZIL_S3__CA."
    assert is_written(settings_of(address, authority.file))
