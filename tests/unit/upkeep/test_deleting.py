"""Files of S3 are deleted a thousand by one request; what S3 has against one of them is said as ever."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import boto3
import pytest
from pyiceberg.io import FileIO

from frazil.errors import NotAllowedError
from frazil.settings.profile import Settings
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.file_io import LateFileIO
from frazil.tables.catalogs.object_store.deletion import delete_together
from frazil.tables.catalogs.requests import REQUESTED, Requests
from frazil.upkeep.storage import delete_files
from kit.wires.lying import glue_in_process
from kit.wires.wire import Asked, Fate, Wire, wired

KEYS = {"s3.region": "us-east-1", "s3.access-key-id": "key", "s3.secret-access-key": "secret"}
TABLE = "s3://lake/shop/orders"
STRANGE = ("symbol=a%2Fb/x y+é#?:&<>'\"=1.parquet", "day=2026-01-01/ü日本.parquet", "plain.parquet")


@dataclass
class Lake:
    """A bucket, the files of a table in it, and what was asked of its S3."""

    io: FileIO
    s3: Any
    wire: Wire
    asked: list[str]

    def put(self, *keys: str) -> list[str]:
        """Where they are."""
        for key in keys:
            self.s3.put_object(Bucket="lake", Key=key, Body=b"1")
        return [f"s3://lake/{key}" for key in keys]

    def names(self) -> set[str]:
        return {each["Key"] for each in self.s3.list_objects_v2(Bucket="lake").get("Contents", ())}

    def refuse(self, fate: Fate, *methods: str) -> None:
        def plan(asked: Asked) -> Fate | None:
            self.asked.append(asked.method)
            return fate if asked.method in methods else None

        self.wire.plan = plan


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str]]:
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
    with glue_in_process(tmp_path_factory.mktemp("glue")) as url:
        s3 = boto3.client("s3", endpoint_url=url, **keys)
        s3.create_bucket(Bucket="lake")
        yield s3, url


@pytest.fixture
def lake(s3: tuple[Any, str]) -> Iterator[Lake]:
    with wired({"s3": s3[1]}) as (wire, urls):
        lake = Lake(LateFileIO({**KEYS, "s3.endpoint": urls["s3"]}), s3[0], wire, [])
        lake.refuse("forbidden")
        yield lake
    for key in lake.names():
        lake.s3.delete_object(Bucket="lake", Key=key)
    REQUESTED.take(TABLE)


@pytest.fixture
def partial() -> Iterator[dict[str, str]]:
    """An S3 that deletes all files of a request but one: it answers 200."""
    error = b"<Error><Key>shop/b</Key><Code>AccessDenied</Code><Message>no</Message></Error>"
    answer = b"<DeleteResult><Deleted><Key>shop/a</Key></Deleted>%b</DeleteResult>" % error

    class S3(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    with HTTPServer(("127.0.0.1", 0), S3) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield {**KEYS, "s3.endpoint": f"http://127.0.0.1:{server.server_port}"}
        server.shutdown()
        thread.join()


def test_a_thousand_go_by_one_request_whatever_their_names_and_nothing_is_put(lake: Lake) -> None:
    there = lake.put(*(f"shop/orders/data/{name}" for name in STRANGE))
    gone = [f"{TABLE}/data/{n}.parquet" for n in range(998)]

    delete_files(lake.io, iter([*there, *gone]))

    assert (lake.names(), lake.asked) == (set(), ["POST", "POST"])
    assert REQUESTED.take(TABLE) == Requests(puts=2)


@pytest.mark.parametrize("key", ["/plain", "shop//plain"])
def test_no_other_file_goes_for_one_whose_name_object_store_would_change(lake: Lake, key: str) -> None:
    lake.put("plain", "shop/plain")

    with pytest.raises(ValueError, match="path"):  # as PyArrow has it, of each file by itself
        delete_files(lake.io, [f"s3://lake/{key}"])

    assert (lake.names(), lake.asked) == ({"plain", "shop/plain"}, [])


def test_a_store_that_deletes_one_by_one_only_is_asked_to(lake: Lake) -> None:
    lake.refuse("forbidden", "POST")

    delete_files(lake.io, lake.put("shop/orders/data/a", "shop/orders/data/b"))

    assert lake.names() == {"shop/orders/data/"}, "the marker that PyArrow puts"
    assert REQUESTED.take(TABLE) == Requests(reads=2, puts=3)


def test_where_one_of_a_thousand_is_refused_each_is_asked_for_by_itself(partial: dict[str, str]) -> None:
    locations = ["s3://lake/shop/a", "s3://lake/shop/b", "file:///shop/c"]

    left = delete_together(partial, locations)

    assert sorted(left) == sorted(locations)


def test_what_may_not_be_deleted_is_named_with_the_right_that_lacks(lake: Lake) -> None:
    there = lake.put("shop/orders/data/a")
    lake.refuse("forbidden", "POST", "DELETE")

    named = pytest.raises(NotAllowedError, match=r"s3:DeleteObject[\s\S]*arn:aws:s3:::lake/\*")
    with named, catalog_errors(Settings()):
        delete_files(lake.io, there)

    assert lake.names() == {"shop/orders/data/a"}
