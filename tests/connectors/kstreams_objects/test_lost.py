"""Storage that fails at a step, refuses, or has a file of the same name."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from devtools.servers.fault_proxy import CutUpload, DropReply, Fault, FaultProxy, Refuse
from devtools.servers.s3 import SECRET_KEY, Bucket, S3Server
from kstreams.errors import SinkError, SinkUnavailableError
from kstreams_objects import Columns, JsonLines, Objects
from tests.support.sinks.sink_writes import commit_of, given, write

SHORT = timedelta(milliseconds=300)


def _row(_key: str, total: int) -> Columns:
    return {"n": total}


def test_unwritable_directory_fails_the_batch(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    sink: Objects[str, int] = Objects(str(tmp_path / "file"), format=JsonLines(), row=_row)
    with pytest.raises(SinkUnavailableError, match="cannot write"):
        write(sink, given(("a", 1)))


def test_publish_does_not_overwrite_an_existing_file(tmp_path: Path) -> None:
    sink: Objects[str, int] = Objects(str(tmp_path), format=JsonLines(), row=_row)
    receipts = sink.open().write(given(("a", 1)), commit_of())
    taken = tmp_path / json.loads(receipts[0])[1]
    taken.write_text("mine")
    sink.publish({commit_of(): receipts})
    assert taken.read_text() == "mine"
    assert [path for path in (tmp_path / "_staged").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("receipt", ["", "[]", "{}", '["a", "../b"]', '["a", 5]'])
def test_publish_refuses_receipt_of_another_sink(tmp_path: Path, receipt: str) -> None:
    sink: Objects[str, int] = Objects(str(tmp_path), format=JsonLines(), row=_row)
    with pytest.raises(SinkError, match="where a staged file was expected"):
        sink.publish({commit_of(): [receipt]})


@pytest.mark.parametrize("place", ["", "s3://key:s3cret@bucket", "file:///x"])
def test_url_given_as_directory_of_objects_sink_is_refused(place: str) -> None:
    with pytest.raises(ValueError, match="not the path of a directory") as told:
        Objects[str, int](place, format=JsonLines(), row=_row)
    assert "s3cret" not in str(told.value)


@pytest.fixture
def proxy(s3_server: S3Server) -> Iterator[FaultProxy]:
    with FaultProxy(s3_server.address) as running:
        yield running


def _sink(bucket: Bucket, url: str, prefix: str, **options: Any) -> Objects[str, int]:
    place = bucket.settings(prefix, endpoint_url=url, **options)
    return Objects(place, format=JsonLines(), row=_row)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("fault", [Refuse(503, "SlowDown"), DropReply(), CutUpload(0)])
@pytest.mark.parametrize("method", ["PUT", "POST", "GET"])
def test_each_file_is_published_once_whichever_request_is_lost(
    bucket: Bucket, proxy: FaultProxy, fault: Fault, method: str
) -> None:
    prefix = uuid.uuid4().hex
    sink = _sink(bucket, proxy.url, prefix)
    proxy.inject(fault, method=method, times=2)
    write(sink, given(("a", 1), ("b", 2)))
    write(sink, given(("a", 3)), commit_of(1))
    found = [key for key in bucket.keys(prefix) if key.endswith(".jsonl")]
    assert not [key for key in found if "_staged" in key]
    data = [bucket.client.get_object(Bucket=bucket.name, Key=key)["Body"].read() for key in found]
    assert data == [b'{"n":1}\n{"n":2}\n', b'{"n":3}\n']


@pytest.mark.long
@pytest.mark.slow
def test_unavailable_storage_is_reported_without_the_secret(
    bucket: Bucket, proxy: FaultProxy
) -> None:
    sink = _sink(bucket, proxy.url, "x", give_up_after=SHORT)
    proxy.inject(Refuse(503, "SlowDown", f"no {SECRET_KEY}"), times=50)
    with pytest.raises(SinkUnavailableError, match="SlowDown") as told:
        sink.prepare()
    for each in (told.value, sink, sink.label):
        assert SECRET_KEY not in str(each) + repr(each)
