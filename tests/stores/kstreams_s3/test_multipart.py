"""Multipart objects: complete or missing, written once, and without leftover parts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from devtools.servers.fault_proxy import CutUpload, DropReply, Fault, FaultProxy, Flip, Refuse
from devtools.servers.s3 import Bucket
from kstreams.errors import StateCorruptError
from kstreams_s3 import StorageUnavailableError
from kstreams_s3.multipart import abort_stale_uploads
from kstreams_s3.store import S3ObjectStore
from tests.stores.kstreams_s3.conftest import ThroughProxy

pytestmark = pytest.mark.slow

_MIB = 1024 * 1024
_PART = 5 * _MIB
LARGE = b"".join(n.to_bytes(4, "big") for n in range(3 * _MIB + 17))  # 12 MiB: three parts


@pytest.fixture
def store(faulty: ThroughProxy, proxy: FaultProxy) -> S3ObjectStore:
    opened = faulty(multipart_bytes=_PART, part_bytes=_PART).open()
    opened.put_if_absent("first", b"")
    proxy.seen.clear()
    return opened


def uploads(bucket: Bucket, prefix: str) -> list[str]:
    found = bucket.client.list_multipart_uploads(Bucket=bucket.name, Prefix=prefix)
    return [upload["Key"] for upload in found.get("Uploads", ())]


def test_large_object_is_written_and_read_in_parts(store: S3ObjectStore, proxy: FaultProxy) -> None:
    assert store.put_if_absent("large", LARGE)
    assert proxy.count("PUT", "partNumber") == 3
    assert store.get("large") == LARGE
    assert proxy.count("GET", "/large") == 3
    assert store.get("large", _PART - 2, 4) == LARGE[_PART - 2 : _PART + 2]


def test_multipart_upload_of_existing_name_is_refused_before_parts_are_sent(
    store: S3ObjectStore, proxy: FaultProxy, faulty: ThroughProxy
) -> None:
    store.put_if_absent("large", b"other")
    proxy.seen.clear()
    assert not store.put_if_absent("large", LARGE)
    assert proxy.count("PUT") == 0
    assert store.get("large") == b"other"


def test_multipart_upload_does_not_replace_object_created_meanwhile(
    store: S3ObjectStore, proxy: FaultProxy, faulty: ThroughProxy, bucket: Bucket
) -> None:
    other = bucket.settings(faulty.prefix).open()
    other.put_if_absent("first", b"")

    def come_between() -> None:
        assert other.put_if_absent("large", b"other")

    proxy.inject(DropReply(come_between), method="PUT", contains="partNumber=3")
    assert not store.put_if_absent("large", LARGE)
    assert store.get("large") == b"other"
    assert uploads(bucket, faulty.prefix) == []


@pytest.mark.parametrize(
    ("fault", "method", "contains"),
    [
        pytest.param(Refuse(503, "SlowDown"), "POST", "uploads", id="begin-busy"),
        pytest.param(DropReply(), "POST", "uploads", id="begin-lost-reply"),
        pytest.param(CutUpload(1000), "PUT", "partNumber=2", id="part-cut"),
        pytest.param(DropReply(), "PUT", "partNumber=3", id="part-lost-reply"),
        pytest.param(DropReply(), "POST", "uploadId", id="end-lost-reply"),
        pytest.param(Refuse(409, "ConditionalRequestConflict"), "POST", "uploadId", id="conflict"),
        pytest.param(Refuse(404, "NoSuchUpload"), "POST", "uploadId", id="upload-gone"),
    ],
)
def test_multipart_upload_is_retried_after_faults(
    store: S3ObjectStore, proxy: FaultProxy, fault: Fault, method: str, contains: str
) -> None:
    proxy.inject(fault, method=method, contains=contains)
    assert store.put_if_absent("large", LARGE)
    assert store.get("large") == LARGE
    assert list(store.list("")) == ["first", "large"]


@pytest.mark.long
def test_failed_upload_is_aborted(faulty: ThroughProxy, proxy: FaultProxy, bucket: Bucket) -> None:
    options = {"multipart_bytes": _PART, "part_bytes": _PART}
    store = faulty(give_up_after=timedelta(seconds=0.01), **options).open()
    store.put_if_absent("first", b"")
    proxy.inject(Refuse(503, "SlowDown"), method="PUT", contains="partNumber=2", times=1000)
    with pytest.raises(StorageUnavailableError):
        store.put_if_absent("large", LARGE)
    assert uploads(bucket, faulty.prefix) == []
    assert list(store.list("")) == ["first"]


def test_old_uploads_of_killed_processes_are_aborted(bucket: Bucket, prefix: str) -> None:
    client = bucket.client
    begun = client.create_multipart_upload(Bucket=bucket.name, Key=f"{prefix}/left")
    other = client.create_multipart_upload(Bucket=bucket.name, Key=f"other-{prefix}/left")
    assert abort_stale_uploads(client, bucket.name, f"{prefix}/") == 0
    assert uploads(bucket, prefix) == [f"{prefix}/left"]
    assert abort_stale_uploads(client, bucket.name, f"{prefix}/", timedelta(seconds=-5)) == 1
    assert uploads(bucket, prefix) == []
    assert uploads(bucket, f"other-{prefix}") == [f"other-{prefix}/left"]
    client.abort_multipart_upload(
        Bucket=bucket.name, Key=f"other-{prefix}/left", UploadId=other["UploadId"]
    )
    assert begun["UploadId"]


def test_damage_in_later_range_of_large_object_is_detected(
    store: S3ObjectStore, proxy: FaultProxy
) -> None:
    store.put_if_absent("large", LARGE)
    proxy.inject(Flip(5), method="GET", skip=1)
    assert store.get("large") == LARGE
    proxy.inject(Flip(5), method="GET", times=1000)
    with pytest.raises(StateCorruptError, match="large"):
        store.get("large")


def test_object_replaced_between_two_ranges_is_read_again(
    store: S3ObjectStore, proxy: FaultProxy, faulty: ThroughProxy, bucket: Bucket
) -> None:
    store.put_if_absent("large", LARGE)
    other = LARGE[::-1]
    client = bucket.client

    def replace() -> None:
        client.put_object(Bucket=bucket.name, Key=f"{faulty.prefix}/large", Body=other)

    proxy.inject(DropReply(replace), method="GET", skip=1)
    assert store.get("large") == other
