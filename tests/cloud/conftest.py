"""Clouds that say no, one process for each of them and for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.clouds.cloud_aws import CloudAws, cloud_aws
from kit.clouds.cloud_confluent import CloudConfluent, Deployed, cloud_confluent
from kit.clouds.cloud_snowflake import CloudSnowflake, cloud_snowflake
from kit.clouds.confluent_openapi import document
from kit.runs.alone import alone, started_alone


@pytest.fixture(scope="module", autouse=True)
def nobody_at_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps the developer's own stack and identity out of these tests, and these out of the next module's."""
    with alone(tmp_path_factory.mktemp("home")):
        yield


@pytest.fixture(scope="session")
def aws_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudAws]:
    folder = tmp_path_factory.mktemp("aws")
    yield from started_alone(cloud_aws(folder), folder)


@pytest.fixture
def aws(aws_process: CloudAws) -> Iterator[CloudAws]:
    """An account with nothing in it, at an AWS that does as it should."""
    yield aws_process
    aws_process.reset()


@pytest.fixture(scope="session")
def snowflake_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudSnowflake]:
    """A Snowflake whose grants count, and no AWS: it reads no tables."""
    folder = tmp_path_factory.mktemp("snowflake")
    yield from started_alone(cloud_snowflake(folder), folder)


@pytest.fixture(scope="session")
def confluent_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudConfluent]:
    """The stand-in, judged by Confluent's documents where they are at hand."""
    yield from started_alone(cloud_confluent(), tmp_path_factory.mktemp("confluent"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says whether the stand-in for Confluent was held against Confluent's own documents."""
    if document() is None:
        terminalreporter.write_line(
            "Confluent's OpenAPI documents judged nothing: FRAZIL_TEST_OPENAPI names no folder with them."
        )


@pytest.fixture
def confluent(confluent_server: CloudConfluent) -> CloudConfluent:
    """An organization with nothing in it, where all is quick; it leans on no AWS."""
    confluent_server.reset()
    return confluent_server


@pytest.fixture
def deployed(confluent: CloudConfluent) -> Deployed:
    """A deployment that is not made yet."""
    return Deployed(confluent)
