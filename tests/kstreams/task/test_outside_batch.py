"""Contexts and stores kept beyond their batch reject all effects."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kstreams import (
    INT64,
    TEXT,
    Processor,
    ProcessorContext,
    Record,
    Topology,
    TopologyBuilder,
    key_value_store,
)
from kstreams.errors import KStreamsError, OutsideBatchError, TopologyError
from kstreams.processors import PunctuationType
from kstreams.stores import list_store, session_store, window_store
from kstreams.testing import TopologyTestDriver
from kstreams.windowed import Windowed
from tests.support.apps.one_task import IN, OUT

COUNTS = key_value_store("counts", key=TEXT, value=INT64)
RECORD = Record("late", 1, 0)
WINDOW = Windowed("a", 0, 1)


class Keeper(Processor[str, int, str, int]):
    """Counts and forwards; the test keeps its context and its store."""

    kept: Any = None

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.counts = context, context.store(COUNTS)
        type(self).kept = self

    def process(self, record: Record[str, int]) -> None:
        self.counts.put(record.key, record.value)
        self.context.forward(record)

    def close(self) -> None:
        closing = self.closing
        if closing is not None:
            closing(self)

    closing: Callable[[Any], object] | None = None


def keeping(supplier: Callable[[], Keeper] = Keeper, *, twice: bool = False) -> Topology:
    """Return a topology: in -> keep -> out, or two of each."""
    builder = TopologyBuilder("keeping")
    keep = builder.add_processor("keep", supplier, builder.add_source("in", IN), stores=[COUNTS])
    builder.add_sink("out", OUT, keep)
    if twice:
        builder.add_sink("out-2", OUT, keep)
    return builder.build()


EFFECTS: dict[str, Callable[[Any], object]] = {
    "forward": lambda kept: kept.context.forward(RECORD),
    "forward_to": lambda kept: kept.context.forward_to("out", RECORD),
    "put": lambda kept: kept.counts.put("late", 1),
    "put_many": lambda kept: kept.counts.put_many(["late"], [1]),
    "put_if_absent": lambda kept: kept.counts.put_if_absent("late", 1),
    "delete": lambda kept: kept.counts.delete("a"),
    "drop": lambda kept: kept.context.drop("late"),
    "advance_close_time": lambda kept: kept.context.advance_close_time(5),
}


@pytest.mark.parametrize("twice", [False, True], ids=["one child", "two children"])
@pytest.mark.parametrize("effect", EFFECTS.values(), ids=EFFECTS)
def test_kept_context_or_store_is_rejected_between_batches(
    effect: Callable[[Any], object], twice: bool
) -> None:
    with TopologyTestDriver(keeping(twice=twice)) as driver:
        driver.pipe(IN, "a", 1)
        kept = Keeper.kept
        for _ in range(2):
            with pytest.raises(OutsideBatchError, match="outside of a batch") as caught:
                effect(kept)
            assert "keep no references" in caught.value.hint
        assert kept.counts.get("a") == 1
        driver.pipe(IN, "b", 2)
        assert driver.store_contents(COUNTS) == {"a": 1, "b": 2}
        assert {record.key for record in driver.read(OUT)} == {"a", "b"}
        assert not driver.dropped


def test_schedule_outside_of_batch_is_rejected() -> None:
    with TopologyTestDriver(keeping()) as driver:
        driver.pipe(IN, "a", 1)
        with pytest.raises(TopologyError, match="schedule outside init"):
            Keeper.kept.context.schedule(
                timedelta(seconds=1), PunctuationType.STREAM_TIME, lambda _: None
            )


def test_effects_of_thread_that_outlives_its_batch_are_rejected() -> None:
    class Threaded(Keeper):
        def process(self, record: Record[str, int]) -> None:
            super().process(record)
            threads.append(threading.Thread(target=late, args=(self,)))
            threads[-1].start()

    def late(kept: Keeper) -> None:
        ended.wait()
        for effect in (EFFECTS["forward"], EFFECTS["put"]):
            try:
                effect(kept)
            except KStreamsError as exc:
                found.append(type(exc))

    ended, threads, found = threading.Event(), list[threading.Thread](), list[type]()
    with TopologyTestDriver(keeping(Threaded)) as driver:
        driver.pipe(IN, "a", 1)
        ended.set()
        for thread in threads:
            thread.join()
        assert found == [OutsideBatchError] * 2
        driver.run()
        assert [record.key for record in driver.read(OUT)] == ["a"]


@pytest.mark.parametrize("effect", EFFECTS.values(), ids=EFFECTS)
def test_calls_of_closed_processor_have_no_effect(
    effect: Callable[[Any], object],
) -> None:
    class Closing(Keeper):
        closing = staticmethod(effect)

    with pytest.raises(OutsideBatchError) as caught:  # noqa: SIM117
        with TopologyTestDriver(keeping(Closing), recreate_processors=True) as driver:
            driver.pipe(IN, "a", 1)
    assert caught.value.where.node == "keep"


def test_forward_kept_outside_of_context_is_detected_by_next_batch() -> None:
    forward = []

    class Taking(Keeper):
        def process(self, record: Record[str, int]) -> None:
            forward.append(self.context.forward)
            super().process(record)

    with TopologyTestDriver(keeping(Taking)) as driver:
        driver.pipe(IN, "a", 1)
        forward[0](RECORD)
        with pytest.raises(OutsideBatchError, match="forwarded records"):
            driver.pipe(IN, "b", 2)
        driver.run()
        assert [record.key for record in driver.read(OUT)] == ["a", "b"]


def test_stores_of_any_kind_are_unusable_after_batch() -> None:
    specs: list[tuple[Any, Callable[[Any], object]]] = [
        (list_store("l", key=TEXT, value=INT64), lambda store: store.append("a", 1)),
        (window_store("w", key=TEXT, value=INT64), lambda store: store.put(WINDOW, 1)),
        (session_store("s", key=TEXT, value=INT64), lambda store: store.put(WINDOW, 1)),
    ]
    kept: list[Any] = []

    class Keeps(Processor[str, int, str, int]):
        def init(self, context: ProcessorContext[str, int]) -> None:
            kept[:] = [context.store(spec) for spec, _ in specs]

        def process(self, record: Record[str, int]) -> None:
            for (_, write), store in zip(specs, kept, strict=True):
                write(store)

    builder = TopologyBuilder("kinds")
    source = builder.add_source("in", IN)
    builder.add_processor("keeps", Keeps, source, stores=[spec for spec, _ in specs])
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(IN, "a", 1)
        for (_, write), store in zip(specs, kept, strict=True):
            with pytest.raises(OutsideBatchError):
                write(store)
