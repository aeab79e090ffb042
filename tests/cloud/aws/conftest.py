from __future__ import annotations

import pytest

from kit.clouds.cloud_aws import CloudAws
from kit.clouds.made_at_aws import TABLEFLOW, MadeAtAws


@pytest.fixture
def lab(aws: CloudAws) -> MadeAtAws:
    """A deployment that is not made yet."""
    return MadeAtAws(aws)


@pytest.fixture
def tableflow(aws: CloudAws) -> MadeAtAws:
    """One into which Confluent's Tableflow writes."""
    return MadeAtAws(aws, dict(TABLEFLOW))
