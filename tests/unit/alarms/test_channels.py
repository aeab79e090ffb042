"""Alarms arrive at real servers; one that is down loses none of them and stops nothing."""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from frazil.alarms.channels import channels_of, tell
from frazil.alarms.journal import Cause, Journal, Subject
from frazil.settings.systems.alarms import AlarmSettings, MailSettings
from frazil_local.authority import Authority
from kit.logins.receivers import Receiver, mail_receiver, web_receiver

COUNT = Subject("check", "row_count", "local.a")
WRONG = Cause("row_count", "7 rows, <8> expected.")


@pytest.fixture
def web() -> Iterator[Receiver]:
    with web_receiver() as receiver:
        yield receiver


@pytest.fixture
def post() -> Iterator[Receiver]:
    with mail_receiver() as receiver:
        yield receiver


@pytest.fixture
def journal() -> Journal:
    journal = Journal()
    journal.judge({COUNT: WRONG}, 0.0)
    return journal


def by_mail(port: int, **further: object) -> AlarmSettings:
    settings = {"host": "127.0.0.1", "port": port, "security": "none", "sender": "f@x.example"}
    return AlarmSettings(
        mail=MailSettings.model_validate({**settings, "to": "a@x.example, b@x.example", **further})
    )


def test_a_webhook_gets_the_alarms_as_json(web: Receiver, journal: Journal) -> None:
    outcome = tell(journal, channels_of(AlarmSettings(webhook=SecretStr(web.url))), "local", 5.0)

    assert outcome == {"webhook": "told 1"}
    assert web.posts == [
        {
            "cluster": "local",
            "title": "Frazil local: 1 new",
            "alarms": [
                {
                    "key": "check row_count of local.a: row_count",
                    "state": "new",
                    "kind": "check",
                    "name": "row_count",
                    "table": "local.a",
                    "cause": "row_count",
                    "severity": "ERROR",
                    "text": "7 rows, <8> expected.",
                    "since": 0.0,
                }
            ],
        }
    ]


def test_slack_gets_text_in_which_nothing_is_markup(web: Receiver, journal: Journal) -> None:
    tell(journal, channels_of(AlarmSettings(slack=SecretStr(web.url))), "local", 5.0)

    (post,) = web.posts
    assert post["text"].startswith("Frazil local: 1 new\n\nNEW row_count: check row_count of local.a, since")
    assert "7 rows, &lt;8&gt; expected." in post["text"]


def test_an_e_mail_goes_to_everybody_after_a_login(post: Receiver, journal: Journal) -> None:
    access = by_mail(post.port, user="frazil", password="a-secret")

    assert tell(journal, channels_of(access), "local", 5.0) == {"mail": "told 1"}

    (letter,) = post.letters
    assert (letter["Subject"], letter["To"]) == ("Frazil local: 1 new", "a@x.example, b@x.example")
    assert "7 rows, <8> expected." in letter.as_string()
    assert base64.b64decode(post.logins[0].split()[1]).decode() == "\0frazil\0a-secret"


def test_a_message_for_people_lists_twenty_and_counts_the_rest(web: Receiver) -> None:
    journal = Journal()
    journal.judge({Subject("check", "schema", f"local.t{i}"): WRONG for i in range(25)}, 0.0)
    url = SecretStr(web.url)

    tell(journal, channels_of(AlarmSettings(webhook=url, slack=url)), "local", 5.0)

    text, whole = sorted(web.posts, key=lambda post: "alarms" in post)
    assert len(whole["alarms"]) == 25
    assert (text["text"].count("check schema"), text["text"].endswith("and 5 more")) == (20, True)


def test_a_channel_that_refuses_is_told_at_the_next_look(web: Receiver, journal: Journal) -> None:
    channels = channels_of(AlarmSettings(webhook=SecretStr(web.url)))
    web.refuses = True

    first = tell(journal, channels, "local", 5.0)
    web.refuses = False
    second = tell(journal, channels, "local", 6.0)

    assert (first, second) == ({"webhook": "not told: the answer was 503"}, {"webhook": "told 1"})


def test_a_mail_server_that_refuses_is_told_at_the_next_look(post: Receiver, journal: Journal) -> None:
    channels = channels_of(by_mail(post.port))
    post.refuses = True

    first = tell(journal, channels, "local", 5.0)
    post.refuses = False
    second = tell(journal, channels, "local", 6.0)

    assert (first, second) == ({"mail": "not told: SMTPSenderRefused"}, {"mail": "told 1"})


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/a-secret", "no-url/a-secret", "http://[a-secret"])
def test_an_address_that_nobody_answers_stops_nothing_and_is_never_shown(
    web: Receiver, journal: Journal, address: str
) -> None:
    access = AlarmSettings(webhook=SecretStr(address), slack=SecretStr(web.url))

    outcome = tell(journal, channels_of(access), "local", 5.0)

    assert outcome["slack"] == "told 1"
    assert outcome["webhook"].startswith("not told: ")
    assert "a-secret" not in f"{outcome} {access!r}"


def test_a_mail_server_without_encryption_is_not_spoken_to_where_it_was_asked_for(
    post: Receiver, journal: Journal
) -> None:
    outcome = tell(journal, channels_of(by_mail(post.port, security="starttls")), "local", 5.0)

    assert outcome == {"mail": "not told: SMTPNotSupportedError"}
    assert post.letters == []


def test_a_login_needs_both_of_its_parts() -> None:
    with pytest.raises(ValueError, match="a login needs user and password"):
        by_mail(25, user="frazil")


def test_a_server_that_hangs_keeps_no_other_channel_waiting(web: Receiver, journal: Journal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, and never answers
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/a-secret"
        access = AlarmSettings(webhook=SecretStr(address), slack=SecretStr(web.url))
        outcome = tell(journal, channels_of(access), "local", 5.0, seconds=1.0)

    assert outcome == {"webhook": "not told: TimeoutError", "slack": "told 1"}


def test_no_address_is_in_the_repr_of_a_channel(web: Receiver) -> None:
    assert "a-secret" not in repr(channels_of(AlarmSettings(webhook=SecretStr(web.url))))


@pytest.mark.parametrize("security", ["starttls", "tls"])
@pytest.mark.parametrize("known", [True, False])
def test_an_e_mail_goes_to_a_server_of_a_known_authority_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: Journal, security: str, known: bool
) -> None:
    ours, others = Authority(tmp_path / "ours", "ours"), Authority(tmp_path / "others", "others")
    monkeypatch.setenv("SSL_CERT_FILE", str((ours if known else others).file))

    with mail_receiver(ours.identity("mail"), encrypted=security == "tls") as post:
        access = by_mail(post.port, security=security, user="frazil", password="a-secret")
        outcome = tell(journal, channels_of(access), "local", 5.0)

    assert outcome == {"mail": "told 1" if known else "not told: SSLCertVerificationError"}
    assert len(post.letters) == len(post.logins) == known
