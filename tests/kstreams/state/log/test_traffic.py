"""Requests and bytes of the durable log are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams.errors import ObjectMissingError
from kstreams.state.log.directory import DirectoryObjectStore
from kstreams.state.log.traffic import CountedObjects, Traffic
from kstreams_testing.object_store import ObjectStoreContract


class TestCountedObjects(ObjectStoreContract):
    """The counting store behaves like the counted one."""

    def open(self, place: Path) -> CountedObjects:
        return CountedObjects(DirectoryObjectStore(place))


def test_storage_requests_and_bytes_are_counted_until_take(tmp_path: Path) -> None:
    objects = CountedObjects(DirectoryObjectStore(tmp_path))
    objects.put_if_absent("a", b"12345")
    objects.put_if_absent("a", b"123")
    objects.get("a")
    objects.get("a", 1, 2)
    list(objects.list(""))
    objects.delete(name for name in ("a", "b"))
    assert objects.take() == Traffic(2, 8, 2, 7, 1, 2)
    assert objects.take() == Traffic()


def test_missing_object_is_not_counted_as_read(tmp_path: Path) -> None:
    objects = CountedObjects(DirectoryObjectStore(tmp_path))
    with pytest.raises(ObjectMissingError):
        objects.get("none")
    assert objects.take() == Traffic()


def test_traffic_can_be_added_printed_and_converted_to_json() -> None:
    both = Traffic(1, 2, 3, 4, 5, 6) + Traffic(10, 20, 30, 40, 50, 60)
    assert both == Traffic(11, 22, 33, 44, 55, 66)
    assert Traffic.from_json(both.to_json()) == both
    assert str(both) == "11 PUT of 22 bytes, 33 GET of 44 bytes, 55 LIST, 66 DELETE"


def test_repr_of_counted_storage_is_that_of_inner_storage(tmp_path: Path) -> None:
    objects = DirectoryObjectStore(tmp_path)
    assert repr(CountedObjects(objects)) == repr(objects)
