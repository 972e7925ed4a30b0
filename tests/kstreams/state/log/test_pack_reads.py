"""Tasks that restore from the same packs share the requests for them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier

import pytest

from kstreams.errors import ObjectMissingError, StoreError
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.pack_reads import PackCache, PackReads
from kstreams.state.log.traffic import CountedObjects
from tests.support.storage.counting_object_store import ObjectDict

PACK = "app/packs/e/00000000000000000001-a-0.pack"
DATA = bytes(range(200))


def packs(**contents: bytes) -> CountedObjects:
    objects = ObjectDict()
    for name, data in {PACK: DATA, **contents}.items():
        objects.put_if_absent(name, data)
    return CountedObjects(objects)


def test_reads_of_pack_request_its_range_once_and_then_whole_pack_once() -> None:
    objects, cache = packs(), PackCache()
    for start in range(0, 200, 10):
        task = PackReads(objects, cache)
        assert task.get(PACK, start, 10) == DATA[start : start + 10]
    traffic = objects.take()
    assert (traffic.gets, traffic.get_bytes) == (2, 210)


def test_range_past_end_of_pack_returns_bytes_up_to_its_end() -> None:
    cache = PackCache()
    found = [PackReads(packs(), cache).get(PACK, 190, 50) for _ in range(3)]
    assert found == [DATA[190:]] * 3


def test_reads_of_other_objects_and_whole_packs_go_to_storage_each_time() -> None:
    objects = packs(other=b"abc")
    reads = PackReads(objects, PackCache())
    assert [reads.get("other", 1, 1) for _ in range(4)] == [b"b"] * 4
    assert [reads.get(PACK) for _ in range(4)] == [DATA] * 4
    assert objects.take().gets == 8


def test_cache_keeps_most_recently_used_packs_up_to_its_size() -> None:
    names = [f"{n}.pack" for n in range(4)]
    objects, cache = (
        packs(**{name: bytes([n]) * 40 for n, name in enumerate(names)}),
        PackCache(100),
    )
    reads = PackReads(objects, cache)
    for name in names:
        reads.get(name, 0, 1)
    for name in names[:2]:
        reads.get(name, 0, 1)
    reads.get(names[0], 0, 1)
    reads.get(names[2], 0, 1)  # no room for the second one, which is older than the first
    objects.take()
    reads.get(names[0], 0, 1)
    reads.get(names[2], 0, 1)
    assert objects.take().gets == 0
    assert reads.get(names[1], 5, 2) == b"\1\1"
    assert objects.take().gets == 1


def test_failed_read_of_pack_is_tried_again_by_next_read() -> None:
    class Fails(ObjectDict):
        broken = False

        def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
            if self.broken:
                raise StoreError("the storage is unavailable")
            return super().get(name, start, length)

    objects, cache = Fails(), PackCache()
    objects.put_if_absent(PACK, DATA)
    reads = PackReads(objects, cache)
    reads.get(PACK, 0, 1)
    objects.broken = True
    with pytest.raises(StoreError, match="unavailable"):
        reads.get(PACK, 0, 1)
    objects.broken = False
    assert reads.get(PACK, 7, 3) == DATA[7:10]


def test_missing_pack_raises_error_at_each_read() -> None:
    reads = PackReads(packs(), PackCache())
    for _ in range(3):
        with pytest.raises(ObjectMissingError):
            reads.get("missing.pack", 0, 5)


def test_threads_that_read_pack_at_same_time_share_one_request() -> None:
    objects, cache, barrier = packs(), PackCache(), Barrier(8)
    PackReads(objects, cache).get(PACK, 0, 1)

    def read(number: int) -> bytes:
        barrier.wait()
        return PackReads(objects, cache).get(PACK, number, 5)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(read, range(8)))
    assert found == [DATA[n : n + 5] for n in range(8)]
    assert objects.take().gets == 2


@pytest.mark.parametrize("seed", range(5))
def test_reads_through_cache_of_any_size_equal_those_of_storage(seed: int) -> None:
    random = Random(seed)
    names = [f"{n}.pack" for n in range(6)]
    objects: ObjectStore = packs(**{name: random.randbytes(random.randrange(90)) for name in names})
    cache = PackCache(random.choice((0, 50, 150, 1_000)))
    for _ in range(200):
        name, start, length = random.choice(names), random.randrange(100), random.randrange(30)
        expected = objects.get(name, start, length)
        assert PackReads(objects, cache).get(name, start, length) == expected
