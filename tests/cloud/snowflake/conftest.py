"""A Snowflake and an AWS that judge each other, and deployments in both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from typing import Any

import pytest

from kit.clouds.cloud_aws import CloudAws
from kit.clouds.cloud_snowflake import CloudSnowflake, cloud_snowflake
from kit.clouds.in_snowflake import InSnowflake, in_snowflake_as
from kit.runs.alone import started_alone

_NUMBER = count()


@pytest.fixture(scope="session")
def snowflake(aws_process: CloudAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudSnowflake]:
    folder = tmp_path_factory.mktemp("snowflake")
    yield from started_alone(cloud_snowflake(folder, aws_process.url), folder)


@pytest.fixture(scope="module")
def deployment(aws_process: CloudAws, snowflake: CloudSnowflake) -> Iterator[Callable[..., InSnowflake]]:
    """Makes up deployments, by what they have in Snowflake; nothing of them is there yet."""
    with ExitStack() as until_the_end:

        def make(**part: Any) -> InSnowflake:
            name = f"shop_{next(_NUMBER)}"
            return until_the_end.enter_context(in_snowflake_as(name, aws_process, snowflake, **part))

        yield make


@pytest.fixture(scope="module")
def made(deployment: Callable[..., InSnowflake]) -> InSnowflake:
    """One that is there, with a table and its view; IAM was three seconds late, and is from now on."""
    shop = deployment()
    shop.aws.turn(propagation=3.0)
    shop.create()
    shop.make_table("trades")
    shop.show("trades")
    shop.create()
    return shop
