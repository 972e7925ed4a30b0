"""Faults of the network: an object is written completely or not at all, and once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from devtools.servers.fault_proxy import (
    CutAnswer,
    CutUpload,
    DropReply,
    Fault,
    FaultProxy,
    Flip,
    Refuse,
    Truncate,
)
from devtools.servers.gcs import GcsBucket
from kstreams.errors import ObjectMissingError, SinkUnavailableError, StateCorruptError
from kstreams_gcs import GcsUnavailableError
from kstreams_objects import Columns, JsonLines, Objects
from tests.support.sinks.sink_writes import commit_of, given, write

pytestmark = [pytest.mark.slow, pytest.mark.connectors]

DATA = bytes(range(256)) * 1000
SHORT = timedelta(milliseconds=300)
PASSING = (Refuse(503, "SlowDown"), Refuse(429, "TooMany"), DropReply(), CutUpload(100))


@pytest.mark.parametrize("fault", PASSING)
@pytest.mark.parametrize("size", [1000, 9 << 20], ids=["at once", "in parts"])
def test_gcs_create_retried_after_faults_recognizes_its_own_object(
    gcs: GcsBucket, prefix: str, proxy: FaultProxy, fault: Fault, size: int
) -> None:
    """A create whose reply was lost finds that the object exists, and recognizes it."""
    store = gcs.settings(prefix, endpoint_url=proxy.url).open()
    data = b"x" * size
    proxy.inject(fault, method="POST", contains="/upload/", times=2)
    assert store.put_if_absent("object", data)
    assert not store.put_if_absent("object", b"another")
    assert store.get("object") == data


@pytest.mark.parametrize("fault", [Refuse(500, "Error"), DropReply(), CutAnswer(1000)])
def test_gcs_get_is_retried_after_faults(
    gcs: GcsBucket, prefix: str, proxy: FaultProxy, fault: Fault
) -> None:
    gcs.put(f"{prefix}/a", DATA)
    store = gcs.settings(prefix, endpoint_url=proxy.url).open()
    proxy.inject(fault, method="GET", times=2)
    assert store.get("a") == DATA
    assert store.get("a", 100, 50) == DATA[100:150]
    assert store.get("a", len(DATA)) == b""


@pytest.mark.parametrize(("fault", "said"), [(Flip(77), "damaged"), (Truncate(10), "255990 bytes")])
def test_gcs_get_refuses_damaged_data(
    gcs: GcsBucket, prefix: str, proxy: FaultProxy, fault: Fault, said: str
) -> None:
    gcs.put(f"{prefix}/a", DATA)
    store = gcs.settings(prefix, endpoint_url=proxy.url, give_up_after=SHORT).open()
    proxy.inject(fault, method="GET", times=50)
    with pytest.raises((StateCorruptError, GcsUnavailableError), match=said):
        store.get("a")


@pytest.mark.parametrize("fault", [Refuse(503, "SlowDown"), DropReply()])
@pytest.mark.parametrize("method", ["POST", "DELETE", "GET"])
def test_gcs_sink_publishes_each_file_once_after_lost_request(
    gcs: GcsBucket, prefix: str, proxy: FaultProxy, fault: Fault, method: str
) -> None:
    place = gcs.settings(prefix, endpoint_url=proxy.url)
    sink: Objects[str, int] = Objects(place, format=JsonLines(), row=_row)
    for batch in range(3):
        proxy.inject(fault, method=method, skip=batch)
        write(sink, given(("a", batch)), commit_of(batch))
    found = gcs.keys(prefix)
    assert [gcs.get(key) for key in found if "_staged" not in key] == [
        f'{{"n":{batch}}}\n'.encode() for batch in range(3)
    ]
    assert not [key for key in found if "_staged" in key]


def _row(_key: str, total: int) -> Columns:
    return {"n": total}


def test_unavailable_storage_is_reported_by_store_and_sink(
    gcs: GcsBucket, prefix: str, proxy: FaultProxy
) -> None:
    place = gcs.settings(prefix, endpoint_url=proxy.url, give_up_after=SHORT)
    proxy.inject(Refuse(503, "SlowDown"), times=50)
    with pytest.raises(GcsUnavailableError, match="list"):
        list(place.open().list(""))
    sink: Objects[str, int] = Objects(place, format=JsonLines(), row=_row)
    with pytest.raises(SinkUnavailableError):
        sink.prepare()


def test_error_of_missing_gcs_object_names_it(gcs: GcsBucket, prefix: str) -> None:
    store = gcs.settings(prefix).open()
    with pytest.raises(ObjectMissingError, match="'none'"):
        store.get("none")
    assert not store.move("none", "other")
    store.delete(["none", "none2"])
