"""The features of the builder that streams and tables reach, on the test driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kstreams import (
    DOUBLE,
    INT64,
    TEXT,
    DeadLetter,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    key_value_store,
    timestamped_store,
)
from kstreams.durations import days, minutes, seconds
from kstreams.emit import each_update, on_close
from kstreams.io import topic_by
from kstreams.joins import JoinProcessor, Service
from kstreams.operators import by_key
from kstreams.streams import Streams
from kstreams.testing import TopologyTestDriver
from kstreams.topology import to_function
from kstreams.windows import SessionWindows, TumblingWindows, windowed
from tests.kstreams.streams.shop import COUNTS, NAMES, NUMBERS, OUT, TEXTS, stores

LAST = key_value_store("last", key=TEXT, value=TEXT)
PEOPLE = timestamped_store("people", key=TEXT, value=TEXT)


class Changes(FixedKeyProcessor[str, str, str]):
    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        self.last, self.people = context.store(LAST), context.reader(PEOPLE)

    def process(self, record: Record[str, str]) -> None:
        before, name = self.last.get(record.key), self.people.get(record.key)
        self.last.put(record.key, record.value)
        self.context.forward(record.with_value(f"{before}>{record.value} {name}"))


class Interleave(JoinProcessor[str, str, int, str, str]):
    def process_left(self, record: Record[str, str]) -> None:
        self.context.forward(record)

    def process_right(self, record: Record[str, int]) -> None:
        self.context.forward(record.with_value(str(record.value)))


async def ask(names: Sequence[str]) -> Mapping[str, int]:
    return {name: len(name) for name in names if name != "bob"}


def test_tables_are_joined_derived_and_grouped_with_stores() -> None:
    streams = Streams("tables")
    names, counts = streams.table(NAMES), streams.stream(TEXTS).group_by_key().count()
    names.left_join(counts, lambda name, n: f"{name} {n or 0}", value=TEXT, store="profiles").to(
        OUT
    )
    by_length = Topic("by-length", INT64, INT64)
    names.group_by(lambda _, name: len(name), key=INT64).count().to(by_length)
    lengths = names.map_values(len, store="lengths").filter(lambda _, length: length > 2)
    both = lengths.outer_join(counts, lambda one, other: (one or 0) + (other or 0), value=INT64)
    both.updates(emit=each_update()).to(COUNTS)
    topology = streams.build()
    assert {"profiles", "lengths"} <= {*stores(topology)}
    with TopologyTestDriver(topology, partitions=3) as driver:
        for topic, key, text in ((NAMES, "ann", "Ann"), (TEXTS, "ann", "x"), (TEXTS, "ann", "y")):
            driver.pipe(topic, key, text)
        driver.pipe(NAMES, "bob", "Al")
        assert driver.read_values(OUT) == {"ann": "Ann 2", "bob": "Al 0"}
        assert driver.read_values(by_length) == {3: 1, 2: 1}
        assert driver.read_values(COUNTS) == {"ann": 5}


def test_stream_joins_itself_and_table_as_of_its_time() -> None:
    rates, euros, pairs = (Topic(name, TEXT, DOUBLE) for name in ("rates", "euros", "pairs"))
    streams = Streams("as-of")
    versions = streams.versioned_table(rates, history=days(1)).map_values(float)
    as_of = versions.as_of(grace=minutes(2))
    streams.stream(NUMBERS).join(as_of, lambda n, rate: n * rate, value=DOUBLE).to(euros)
    texts = streams.stream(TEXTS)
    near = texts.within(minutes(1), grace=seconds(0))
    texts.join(near, lambda one, two: float(one + two), value=DOUBLE).to(pairs)
    topology = streams.build()
    assert stores(topology) == ["numbers-join-rates", "rates", "texts-join-texts"]
    with TopologyTestDriver(topology) as driver:
        driver.pipe(rates, "e", 2.0, timestamp=0)
        driver.pipe(NUMBERS, "e", 10, timestamp=60_000)
        driver.pipe(rates, "e", 3.0, timestamp=30_000)
        driver.pipe(NUMBERS, "e", 1, timestamp=600_000)
        assert [record.value for record in driver.read(euros)] == [30.0]
        driver.pipe(TEXTS, "a", "1", timestamp=0)
        driver.pipe(TEXTS, "a", "2", timestamp=1)
        assert sorted(record.value for record in driver.read(pairs)) == [11, 12, 21, 22]


def test_late_records_and_each_change_of_sessions_are_written_to_topics() -> None:
    minute, visit = TumblingWindows(minutes(1)), SessionWindows(minutes(1))
    per_minute = Topic("per-minute", windowed(TEXT, minute), INT64)
    visits = Topic("visits", windowed(TEXT, visit), INT64, nulls="pass")
    streams = Streams("late")
    texts = streams.stream(TEXTS).group_by_key()
    counts = texts.windowed_by(minute, emit=on_close()).count()
    counts.to(per_minute)
    counts.late.map_values(lambda late: late.value, value=TEXT).to(OUT)
    texts.windowed_by(visit, emit=each_update()).count().to(visits)
    with TopologyTestDriver(streams.build()) as driver:
        for text, timestamp in (("x", 1), ("y", 70_000), ("z", 30_000)):
            driver.pipe(TEXTS, "a", text, timestamp=timestamp)
        assert [(r.key.start_ms, r.value) for r in driver.read(per_minute)] == [(0, 1)]
        assert [record.value for record in driver.read(OUT)] == ["z"]
        assert None in [record.value for record in driver.read(visits)]


def test_records_pass_service_global_table_and_processor_or_become_dead_letters() -> None:
    devices = Topic("devices", INT64, TEXT)
    streams = Streams("look-up", on_error=DeadLetter("failed"))
    texts = streams.stream(TEXTS)
    asked = texts.left_join_by(Service(ask), lambda key, _: key, lambda text, n: f"{text}{n}")
    known = streams.stream(NUMBERS).join_by(
        streams.global_table(devices), lambda _, n: n, lambda _, device: device, value=TEXT
    )
    streams.table(NAMES, store=PEOPLE)
    asked.merge(known).process(Changes, stores=[LAST], reads=[PEOPLE]).to(OUT)
    with TopologyTestDriver(streams.build()) as driver:
        driver.pipe(NAMES, "ann", "Ann")
        driver.pipe(devices, 7, "phone")
        driver.pipe(NUMBERS, "ann", 7)
        driver.pipe(TEXTS, "ann", "hi")
        driver.pipe(TEXTS, "bob", "ho")
        found = [record.value for record in driver.read(OUT)]
    assert found == ["None>phone Ann", "phone>hi3 Ann", "None>hoNone None"]


def test_two_streams_are_processed_together_by_key() -> None:
    streams = Streams("pair")
    texts = streams.stream(TEXTS)
    numbers = streams.stream(NUMBERS).select_key(lambda key, _: key)
    texts.process_with(numbers, Interleave, value=TEXT).to(OUT)
    with TopologyTestDriver(streams.build(), partitions=3) as driver:
        driver.pipe(TEXTS, "a", "x")
        driver.pipe(NUMBERS, "a", 5)
        assert sorted(record.value for record in driver.read(OUT)) == ["5", "x"]


def test_topology_with_loop_sinks_event_time_and_ttl_writes_expected_results() -> None:
    called: list[int] = []
    streams = Streams("loops")
    sent = streams.stream(TEXTS, event_time=lambda record: len(record.value))
    received = streams.loop("to-receiver", key=TEXT, value=TEXT, max_hops=1)
    sent.select_key(lambda _, to: to).to(received)

    def on_sent(old: int | None, _: Record[str, str]) -> int:
        return (old or 0) + 1

    def on_received(old: int | None, _: Record[str, str]) -> int:
        return (old or 0) - 1

    balance = sent.group_by_key().cogroup(on_sent).cogroup(received.group_by_key(), on_received)
    numbers = balance.aggregate(ttl=days(1)).updates()
    numbers.to(COUNTS)
    numbers.to(to_function(lambda record: called.append(record.timestamp)))
    choice = topic_by(lambda record: record.key, key=TEXT, value=INT64)
    numbers.filter(lambda _, n: n > 1).to(choice)
    with TopologyTestDriver(streams.build(), partitions=2) as driver:
        driver.pipe(TEXTS, "eve", "ann")
        driver.pipe(TEXTS, "eve", "bob")
        assert driver.read_values(COUNTS) == {"eve": 2, "ann": -1, "bob": -1}
        assert driver.read_values(Topic("eve", TEXT, INT64)) == {"eve": 2}
    assert called == [3, 3, 3, 3]


def test_validated_and_split_streams_and_table_of_nulls() -> None:
    events = Topic("events", TEXT, TEXT, nulls="pass")
    streams = Streams("narrow")
    texts = streams.stream(events)
    good, bad = texts.drop_nulls().validate(lambda _, text: None if text else "empty")
    short, rest = good.split(lambda _, text: len(text) < 3)
    short.deduplicate(by_key(), within=minutes(1)).to(OUT)
    rest.group_by_key().reduce(max).to(Topic("longest", TEXT, TEXT))
    bad.map_values(lambda invalid: invalid.reason, value=TEXT).to(Topic("bad", TEXT, TEXT))
    lengths = texts.to_table().map_values(len).group_by(lambda _, n: n)
    summed = lengths.reduce(lambda one, two: one + two, lambda one, two: one - two)
    summed.to(Topic("sums", INT64, INT64))
    with TopologyTestDriver(streams.build()) as driver:
        for text in ("a", "b", "", "long", None):
            driver.pipe(events, "k", text)
        assert [record.value for record in driver.read(OUT)] == ["a"]
        assert [record.value for record in driver.read(Topic("bad", TEXT, TEXT))] == ["empty"]
        assert driver.read_values(Topic("longest", TEXT, TEXT)) == {"k": "long"}
