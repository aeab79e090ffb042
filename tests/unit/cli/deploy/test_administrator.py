"""Who makes a deployment, and with which arguments; wrong ones are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from frazil_cloud import deployment
from kit.runs.shell import Output

Deploy = Callable[..., Output]
Write = Callable[[str], None]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["plan", "--patience", "0"], "greater than or equal to 1"),
        (["make"], "'make' is not one of"),
        ([], "Missing argument"),
        (["plan", "--day-count", "0"], "greater than or equal to 1"),
        (["plan", "--number-of-api-keys-to-retain", "1"], "greater than or equal to 2"),
        (["plan", "--auto-offset-reset", "newest"], "'newest' is not one of"),
        (["plan", "--snowflake-ware", "W"], "No such option"),
        (["plan", "--snowflake-warehouse", "W"], "shop has no part in Snowflake"),
        (["plan", "--confluent-api-key", "k"], "needs api_secret as well"),
        (["plan", "--confluent-api-secret", "env:NOT_THERE"], "there is no environment variable NOT_THERE"),
    ],
)
def test_a_bad_argument_ends_with_85(deploy: Deploy, arguments: list[str], why: str) -> None:
    result = deploy(*arguments)

    assert result.code == 85
    assert why in " ".join(result.err.replace("│", " ").split())


def test_without_keys_for_confluent_nothing_starts(deploy: Deploy, write: Write) -> None:
    write("  confluent: {}\n")

    result = deploy("plan")

    assert result.code == 85
    assert "--confluent-api-key" in result.err
    assert deploy("plan", FRAZIL_CONFLUENT__API_KEY="k", FRAZIL_CONFLUENT__API_SECRET="s").code == 0


def test_without_an_administrator_of_snowflake_nothing_starts(deploy: Deploy, write: Write) -> None:
    write("  snowflake: {}\n")

    assert "--admin-service-user-secrets-root-path" in deploy("plan").err
    assert deploy("plan", "--admin-service-user-secrets-root-path", "/admin").code == 0


WRITER = "arn:aws:iam::123456789012:role/shop_s3_glue_role"


def test_who_works_in_a_deployment_administers_none_and_hears_the_line_that_mends_it(deploy: Deploy) -> None:
    """The clouds refused, and advised rights that nobody should give: GRANT ROLE ACCOUNTADMIN TO the user."""
    result = deploy("plan", FRAZIL_AWS__ROLE_ARN=WRITER)

    assert result.is_clear
    assert WRITER in result.err
    assert "`unset FRAZIL_AWS__ROLE_ARN`" in " ".join(result.err.split())
    assert deploy("plan").code == 0
    assert deploy("graph", "--out", "shop.svg", FRAZIL_AWS__ROLE_ARN=WRITER).code == 0  # asks no cloud


def test_whoever_has_such_a_profile_is_told_to_name_another_one(deploy: Deploy, tmp_path: Path) -> None:
    for name, role in (("works.json", WRITER), ("administers.json", None)):
        (tmp_path / name).write_text(json.dumps({"aws": {"role_arn": role} if role else {}}))

    result = deploy("plan", FRAZIL_PROFILE="works.json")

    assert result.is_clear
    assert "by FRAZIL_PROFILE" in " ".join(result.err.split())
    assert deploy("plan", FRAZIL_PROFILE="administers.json").code == 0


def test_snowflake_s_service_user_administers_nothing_but_may_stand_beside_who_does(
    deploy: Deploy, write: Write
) -> None:
    write("  snowflake: {}\n")
    user = {"FRAZIL_SNOWFLAKE__USER": "SHOP_USER", "FRAZIL_SNOWFLAKE__TOKEN": "t"}

    assert "Snowflake's user SHOP_USER" in deploy("plan", **user).err
    assert deploy("plan", **user, FRAZIL_SNOWFLAKE__ADMIN_SECRET="/admin").code == 0


def test_the_warehouse_need_not_be_named(deploy: Deploy, write: Write) -> None:
    """D12: the scripts demanded it and did not use it."""
    write("  snowflake: {}\n")

    assert deploy("plan", FRAZIL_SNOWFLAKE__ADMIN_SECRET="/admin").code == 0


def test_each_argument_reaches_the_deployment(
    deploy: Deploy, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D10: the scripts compared a literal, so that no argument ever did."""
    write("  snowflake: {}\n")
    seen = []
    monkeypatch.setattr(deployment, "OBJECTS", {"all": lambda spec, clouds: seen.append(spec) or []})

    result = deploy(
        "plan", "--day-count", "7", "--auto-offset-reset", "earliest", "--number-of-api-keys-to-retain", "3",
        "--snowflake-warehouse", "BIG", "--admin-service-user-secrets-root-path", "/admin",
    )  # fmt: skip

    (spec,) = seen
    assert (spec.rotation.every.days, spec.rotation.keep) == (7, 3)
    assert (spec.aws.auto_offset_reset, spec.names.snowflake("WAREHOUSE")) == ("earliest", "BIG")
    assert "for this time only" in result.err


def test_a_secret_in_the_arguments_is_warned_of_and_never_told(deploy: Deploy, tmp_path: Path) -> None:
    result = deploy(
        "plan", "--debug", "--confluent-api-key", "key", "--confluent-api-secret", "s3cr3t-of-mine"
    )

    assert result.code == 0
    assert "others on this machine see it in the list of processes" in result.err
    assert (
        "s3cr3t-of-mine" not in result.err + result.out + (tmp_path / "frazil-deploy-debug.log").read_text()
    )


def test_a_reference_to_a_secret_is_taken_without_a_word(deploy: Deploy) -> None:
    result = deploy(
        "plan", "--confluent-api-key", "env:CC_KEY", "--confluent-api-secret", "env:CC_SECRET",
        CC_KEY="key", CC_SECRET="secret",
    )  # fmt: skip

    assert result.code == 0
    assert "list of processes" not in result.err
