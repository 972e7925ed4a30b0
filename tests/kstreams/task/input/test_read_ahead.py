"""Keys are read ahead if that saves time, without changes of results."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kstreams import INT64, TEXT, FixedKeyProcessor, ProcessorContext, Record
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.stores.key_value.kind import key_value_store
from tests.support.apps.one_task import OneTask, one_node, queue_of, values

COUNTS = key_value_store("counts", key=TEXT, value=INT64)


class Count(FixedKeyProcessor[str, int, int]):
    """Counts the records of a key, optionally of a few keys only."""

    few = False

    def init(self, context: ProcessorContext[str, int]) -> None:
        super().init(context)
        self.counts = context.store(COUNTS)

    def process(self, record: Record[str, int]) -> None:
        if self.few and record.value % 10:
            return
        total = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, total)
        self.context.forward(record.with_value(total))


class CountFew(Count):
    """Looks up one key of ten."""

    few = True


class Counted(MemoryStore):
    """Counts its reads."""

    single = many = 0

    def get(self, store: str, key: bytes) -> bytes | None:
        self.single += 1
        return super().get(store, key)

    def multi_get(self, store: str, keys: Sequence[bytes]) -> list[bytes | None]:
        self.many += len(keys)
        assert list(keys) == sorted(keys)
        return super().multi_get(store, keys)


@pytest.fixture(params=["fail", "skip"])
def policy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    ("node", "single", "many"), [(Count, 256, 1_744), (CountFew, 200, 0)], ids=["most", "few"]
)
def test_store_rows_are_read_ahead_once_most_record_keys_are_looked_up(
    policy: str, node: type[Count], single: int, many: int
) -> None:
    task = OneTask(one_node(node, stores=[COUNTS], on_error=policy))
    task.base = Counted(["counts"])
    task.renew()
    rows = [(f"key-{n:05}", n, n) for n in range(2_000)]
    found = values(task.run(queue_of(rows)))
    assert isinstance(task.base, Counted)
    assert (task.base.single, task.base.many) == (single, many)
    assert found == [1] * (2_000 if node is Count else 200)


def test_reading_ahead_does_not_change_results() -> None:
    rows = [(f"key-{n % 700}", n, n) for n in range(3_000)]
    whole, cut = (OneTask(one_node(Count, stores=[COUNTS])) for _ in range(2))
    expected = values(whole.run(queue_of(rows)))
    found = []
    for start in range(0, len(rows), 500):
        offsets = range(start, start + 500)
        found += values(cut.run(queue_of(rows[start : start + 500], offsets=offsets)))
    assert found == expected
