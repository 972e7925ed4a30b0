"""Faults of the network: an object is written completely or not at all, and once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from devtools.servers.fault_proxy import (
    CutAnswer,
    CutUpload,
    Delay,
    DropReply,
    Fault,
    FaultProxy,
    Flip,
    Refuse,
    Truncate,
)
from kstreams.errors import StateCorruptError
from kstreams_s3 import StorageUnavailableError
from kstreams_s3.store import S3ObjectStore
from tests.stores.kstreams_s3.conftest import ThroughProxy

pytestmark = pytest.mark.slow

DATA = bytes(range(256)) * 1000


@pytest.fixture
def store(faulty: ThroughProxy, proxy: FaultProxy) -> S3ObjectStore:
    """A store that has made its first requests, so that faults hit only the test's requests."""
    opened = faulty().open()
    opened.put_if_absent("first", b"")
    proxy.seen.clear()
    return opened


@pytest.fixture
def hasty(faulty: ThroughProxy, proxy: FaultProxy) -> S3ObjectStore:
    """A store that gives up soon."""
    opened = faulty(
        give_up_after=timedelta(seconds=0.05), read_timeout=timedelta(seconds=0.3)
    ).open()
    opened.put_if_absent("first", b"")
    proxy.seen.clear()
    return opened


PASSING: dict[str, Fault] = {
    "slow-down": Refuse(503, "SlowDown"),
    "internal": Refuse(500, "InternalError"),
    "conflict": Refuse(409, "ConditionalRequestConflict"),
    "lost-reply": DropReply(),
}


@pytest.mark.long
@pytest.mark.parametrize("fault", [*PASSING.values(), CutUpload(100)], ids=[*PASSING, "cut"])
def test_s3_put_if_absent_is_retried_after_faults(
    store: S3ObjectStore, proxy: FaultProxy, fault: Fault
) -> None:
    proxy.inject(fault, method="PUT", contains="/object", times=2)
    assert store.put_if_absent("object", DATA)
    assert proxy.count("PUT") == 3
    assert store.get("object") == DATA
    assert list(store.list("")) == ["first", "object"]


@pytest.mark.long
@pytest.mark.parametrize("fault", [*PASSING.values(), CutAnswer(100)], ids=[*PASSING, "cut"])
def test_get_list_and_delete_are_retried_after_faults(
    store: S3ObjectStore, proxy: FaultProxy, fault: Fault
) -> None:
    store.put_if_absent("object", DATA)
    proxy.inject(fault, method="GET", times=2)
    assert store.get("object") == DATA
    proxy.inject(fault, method="GET", contains="list-type", times=2)
    assert list(store.list("o")) == ["object"]
    proxy.inject(fault, method="POST", times=2)
    store.delete(["object"])
    assert list(store.list("o")) == []


@pytest.mark.long
def test_create_is_retried_more_often_than_by_boto3(
    store: S3ObjectStore, proxy: FaultProxy
) -> None:
    proxy.inject(Refuse(503, "SlowDown"), method="PUT", times=5)
    assert store.put_if_absent("object", DATA)
    assert proxy.count("PUT") == 6


def test_slow_s3_request_is_repeated(hasty: S3ObjectStore, proxy: FaultProxy) -> None:
    proxy.inject(Delay(1), method="PUT")
    assert hasty.put_if_absent("object", DATA)
    proxy.inject(Delay(1), method="GET")
    assert hasty.get("object") == DATA


@pytest.mark.long
def test_put_to_busy_storage_raises_after_time_limit(
    hasty: S3ObjectStore, proxy: FaultProxy
) -> None:
    proxy.inject(Refuse(503, "SlowDown", "please"), times=1000)
    with pytest.raises(StorageUnavailableError, match="SlowDown") as caught:
        hasty.put_if_absent("object", DATA)
    assert (caught.value.code, caught.value.status) == ("SlowDown", 503)
    proxy.heal()
    assert list(hasty.list("object")) == []
    assert hasty.put_if_absent("object", DATA)


def test_interrupted_upload_leaves_no_object(hasty: S3ObjectStore, proxy: FaultProxy) -> None:
    proxy.inject(CutUpload(1000), method="PUT", times=1000)
    with pytest.raises(StorageUnavailableError):
        hasty.put_if_absent("object", DATA)
    proxy.heal()
    assert list(hasty.list("object")) == []


def test_put_after_lost_reply_recognizes_its_own_object(
    store: S3ObjectStore, proxy: FaultProxy
) -> None:
    proxy.inject(DropReply(), method="PUT")
    assert store.put_if_absent("object", b"mine")
    assert (proxy.count("PUT"), proxy.count("HEAD")) == (2, 1)
    assert not store.put_if_absent("object", b"mine")


@pytest.mark.parametrize("contents", [b"mine", b"another's"])
def test_put_after_lost_reply_detects_object_of_another_writer(
    store: S3ObjectStore, faulty: ThroughProxy, proxy: FaultProxy, contents: bytes
) -> None:
    """The first try does not reach the storage; another writer creates the object before the
    second.
    """
    other = faulty.bucket.settings(faulty.prefix).open()
    proxy.inject(Refuse(500, "InternalError"), method="PUT", contains="/object", times=3)
    other.put_if_absent("object", contents)
    assert not store.put_if_absent("object", b"mine")
    assert store.get("object") == contents


def test_put_whose_replies_are_always_lost_raises_storage_unavailable_error(
    hasty: S3ObjectStore, proxy: FaultProxy
) -> None:
    """The caller gets an error, since neither success nor failure is known."""
    proxy.inject(DropReply(), times=1000)
    with pytest.raises(StorageUnavailableError):
        hasty.put_if_absent("object", DATA)
    proxy.heal()
    assert hasty.get("object") == DATA
    assert not hasty.put_if_absent("object", DATA)


@pytest.mark.parametrize(
    "fault", [Flip(0), Flip(-1), Flip(1234), Truncate(1), Truncate(len(DATA))], ids=repr
)
def test_object_damaged_in_transit_is_read_again(
    store: S3ObjectStore, proxy: FaultProxy, fault: Fault
) -> None:
    store.put_if_absent("object", DATA)
    proxy.inject(fault, method="GET", times=2)
    assert store.get("object") == DATA
    assert proxy.count("GET") == 3


@pytest.mark.parametrize("fault", [Flip(1234), Truncate(7)], ids=repr)
def test_permanently_damaged_object_raises_error(
    store: S3ObjectStore, proxy: FaultProxy, fault: Fault
) -> None:
    store.put_if_absent("object", DATA)
    proxy.inject(fault, method="GET", times=1000)
    with pytest.raises(StateCorruptError, match=r"object 'object' of s3://.* is damaged"):
        store.get("object")
    assert proxy.count("GET") == 3


def test_upload_with_a_wrong_checksum_is_repeated(
    store: S3ObjectStore, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kstreams_s3 import create

    right = create.content_md5
    answers = iter([right(b"something else")])
    monkeypatch.setattr(create, "content_md5", lambda data: next(answers, right(data)))
    assert store.put_if_absent("object", DATA)
    assert proxy.count("PUT") == 2
    assert store.get("object") == DATA
