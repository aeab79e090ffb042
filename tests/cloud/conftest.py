"""Clouds that say no, one process for each of them and for all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from kit.cloud_aws import CloudAws, cloud_aws
from kit.cloud_confluent import CloudConfluent, Deployed, cloud_confluent


@pytest.fixture(scope="session", autouse=True)
def nobody_at_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps the developer's own stack and identity out of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("FRAZIL_", "DAGSTER_", "AWS_")) and not name.startswith("FRAZIL_TEST_"):
                patch.delenv(name)
        patch.setenv("FRAZIL_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.fixture(scope="session")
def aws_process(nobody_at_home: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudAws]:
    with cloud_aws(tmp_path_factory.mktemp("aws")) as aws:
        yield aws


@pytest.fixture
def aws(aws_process: CloudAws) -> Iterator[CloudAws]:
    """An account with nothing in it, at an AWS that does as it should."""
    yield aws_process
    aws_process.reset()


@pytest.fixture(scope="session")
def confluent_server(nobody_at_home: None) -> Iterator[CloudConfluent]:
    with cloud_confluent() as confluent:
        yield confluent


@pytest.fixture
def confluent(confluent_server: CloudConfluent) -> CloudConfluent:
    """An organization with nothing in it, where all is quick; it leans on no AWS."""
    confluent_server.reset()
    return confluent_server


@pytest.fixture
def deployed(confluent: CloudConfluent) -> Deployed:
    """A deployment that is not made yet."""
    return Deployed(confluent)
