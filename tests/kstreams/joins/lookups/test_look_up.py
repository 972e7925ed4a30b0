"""Look-ups: distinct requests of a batch, grouped in calls, cached, retried, failing separately."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder, key_value_store
from kstreams.durations import seconds
from kstreams.errors import ProcessingError, TopologyError
from kstreams.joins import (
    JoinerSupplier,
    LookupCache,
    OneSided,
    Service,
    inner,
    left,
    look_up,
    outer,
)
from kstreams.stores import KeyValueStore, StoreSpec
from kstreams.testing import TopologyTestDriver
from kstreams.topology import DeadLetter, OnError

IN, OUT = Topic("in", TEXT, INT64, nulls="drop"), Topic("out", TEXT, TEXT)
# The fake counts calls in its own object, in the only process of the test driver.
pytestmark = pytest.mark.filterwarnings("ignore::kstreams.errors.LostChangesWarning")

KNOWN = {"a": "Ann", "b": "Bob"}
AGAIN = timedelta(milliseconds=1)


class FakeService:
    """A fake service that answers from a dict and records its calls."""

    def __init__(self, fails: Sequence[BaseException] = (), slow: float = 0) -> None:
        self.calls: list[list[str]] = []
        self.fails = list(fails)
        self.slow = slow

    async def ask(self, names: Sequence[str]) -> Mapping[str, str]:
        self.calls.append(list(names))
        await asyncio.sleep(self.slow)
        if self.fails:
            raise self.fails.pop(0)
        return {name: KNOWN[name] for name in names if name in KNOWN}


def named(number: int, name: str | None) -> str:
    return f"{number}:{name}"


def question(key: str, _: int) -> str | None:
    return key or None


def driver(
    service: Service[str, str],
    joiner: JoinerSupplier[int, str, str, OneSided],
    *,
    on_error: OnError = "fail",
    store: StoreSpec[KeyValueStore[str, str]] | None = None,
) -> TopologyTestDriver:
    builder = TopologyBuilder("t", on_error=on_error)
    asks = look_up(service, joiner, by=question, store=store)
    node = builder.add_processor("ask", asks, builder.add_source("in", IN))
    builder.add_sink("out", OUT, node)
    return TopologyTestDriver(builder.build())


def rows(*keys: str) -> list[Record[str, int]]:
    return [Record(key, number) for number, key in enumerate(keys)]


def test_lookup_requests_each_key_of_batch_once_and_keeps_record_order() -> None:
    fake = FakeService()
    with driver(Service(fake.ask, batch=2), left(named)) as test:
        test.pipe_batch(IN, rows("a", "x", "b", "a", ""))
        assert [r.value for r in test.read(OUT)] == ["0:Ann", "1:None", "2:Bob", "3:Ann", "4:None"]
    assert sorted(fake.calls) == [["a", "x"], ["b"]]


def test_inner_join_drops_records_without_answer_and_counts_null_lookup_keys() -> None:
    with driver(Service(FakeService().ask), inner(named)) as test:
        test.pipe_batch(IN, rows("a", "x", ""))
        assert [r.value for r in test.read(OUT)] == ["0:Ann"]
        assert test.dropped == {"null-question": 1}


def test_lookup_cache_expires_answers_and_misses_after_their_ttl() -> None:
    fake = FakeService()
    cache = LookupCache(10, ttl=seconds(60), misses_ttl=seconds(1))
    with driver(Service(fake.ask, cache=cache), left(named)) as test:
        test.pipe_batch(IN, rows("a", "x"))
        test.pipe_batch(IN, rows("a", "x"))
        assert fake.calls == [["a", "x"]]
        test.clock.advance(seconds(2))
        KNOWN["x"] = "Xan"
        test.pipe_batch(IN, rows("a", "x"))
        del KNOWN["x"]
        assert fake.calls == [["a", "x"], ["x"]]
        test.clock.advance(seconds(60))
        test.pipe_batch(IN, rows("a"))
        assert fake.calls == [["a", "x"], ["x"], ["a"]]
        assert [r.value for r in test.read(OUT)][-3:] == ["0:Ann", "1:Xan", "0:Ann"]


def test_lookup_cache_size_is_bounded() -> None:
    fake = FakeService()
    with driver(Service(fake.ask, cache=LookupCache(1, ttl=seconds(60))), left(named)) as test:
        for key in ("a", "b", "a"):
            test.pipe(IN, key, 1)
    assert fake.calls == [["a"], ["b"], ["a"]]


def test_lookup_answers_in_store_are_reused_until_their_ttl() -> None:
    fake = FakeService()
    store = key_value_store("answers", key=TEXT, value=TEXT, ttl=seconds(9), ttl_clock="wall")
    with driver(Service(fake.ask), left(named), store=store) as test:
        test.pipe(IN, "a", 1)
        test.pipe(IN, "a", 2)
        assert fake.calls == [["a"]]
        assert test.store(store).get("a") == "Ann"


def test_failed_lookup_call_is_retried() -> None:
    fake = FakeService([ConnectionError("gone"), TimeoutError()])
    with driver(Service(fake.ask, backoff=AGAIN), left(named)) as test:
        test.pipe(IN, "a", 1)
        assert [r.value for r in test.read(OUT)] == ["1:Ann"]
    assert len(fake.calls) == 3


def test_lookup_call_beyond_timeout_fails_its_records_with_reason() -> None:
    service = Service(FakeService(slow=9).ask, timeout=AGAIN, retries=1, backoff=AGAIN)
    with (
        driver(service, left(named)) as test,
        pytest.raises(
            ProcessingError, match=r"1 question after 2 calls.*no answer within"
        ) as caught,
    ):
        test.pipe(IN, "a", 1)
    where = caught.value.where
    assert (where.topic, where.offset, where.key, where.node) == ("in", 0, "a", "in")


@pytest.mark.parametrize("on_error", ["skip", DeadLetter("letters")])
def test_lookup_call_that_fails_after_retries_fails_only_its_records(
    on_error: OnError,
) -> None:
    fake = FakeService([ValueError("no such thing")])
    with driver(Service(fake.ask, batch=1, at_once=1), left(named), on_error=on_error) as test:
        test.pipe_batch(IN, rows("a", "b", "a"))
        assert [r.value for r in test.read(OUT)] == ["1:Bob"]
        assert sum(test.dropped.values()) == 2
        letters = test.read_rows("letters")
    assert [row.key for row in letters] == ([] if on_error == "skip" else [b"a", b"a"])


def test_lookup_answer_that_is_not_a_mapping_is_rejected() -> None:
    async def ask(names: Sequence[str]) -> Mapping[str, str]:
        return list(names)  # type: ignore[return-value]

    with (
        driver(Service(ask), left(named)) as test,
        pytest.raises(
            ProcessingError,
            match="the ask\\(\\) function of a service returned list, expected a mapping",
        ),
    ):
        test.pipe(IN, "a", 1)


def test_invalid_look_up_definitions_are_rejected() -> None:
    with pytest.raises(ValueError, match="batch is 0, expected 1 or more"):
        Service(FakeService().ask, batch=0)
    with pytest.raises(ValueError, match="max_rows is 0, expected 1 or more"):
        LookupCache(0, ttl=seconds(1))
    with pytest.raises(TopologyError, match="no outer join"):
        look_up(Service(FakeService().ask), outer(lambda n, a: (n, a)), by=str)  # type: ignore[arg-type]
