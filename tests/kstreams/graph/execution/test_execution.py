"""A topology reports the execution of each node, records or columns, and the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kstreams import (
    DOUBLE,
    INT64,
    TEXT,
    Processor,
    ProcessorContext,
    Record,
    Topic,
    TopologyBuilder,
    filter_,
)
from kstreams.aggregators import (
    approx_count_distinct,
    collect,
    combine,
    count,
    fold,
    last,
    over,
    sum_,
    top_n,
)
from kstreams.durations import minutes
from kstreams.emit import at_most_every, each_update, every, on_close, once_per_batch
from kstreams.errors import TopologyError
from kstreams.operators import aggregate
from kstreams.processors import PunctuationType, TaskId
from kstreams.processors.columns import Execution
from kstreams.serde.text import TextSerde
from kstreams.stores import session_store, sliding_store, timestamped_store, window_store
from kstreams.topology import Topology, to_stdout
from kstreams.windows import (
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    UnlimitedWindows,
    windowed_aggregate,
)
from kstreams_json import json_serde
from kstreams_testing.driver import TopologyTestDriver

WINDOWS = TumblingWindows(minutes(1))
CLICKS = Topic("clicks", TEXT, INT64)


class Shifts:
    """A custom kind of windows."""

    close_delay_ms, close_interval_ms = 0, 1

    def starts(self, timestamp_ms: int) -> list[int]:
        return [timestamp_ms // 9 * 9]

    def end(self, start_ms: int) -> int:
        return start_ms + 9


class Median:
    """A custom aggregator."""

    state: Any = INT64

    def init(self, record: Any) -> int:
        return 0

    def add(self, state: int, record: Any) -> int:
        return state

    def merge(self, earlier: int, later: int) -> int:
        return earlier

    def result(self, state: int) -> int:
        return state


def counted(
    windows: Any = WINDOWS,
    aggregator: Any = None,
    *,
    emit: Any = None,
    key: Any = TEXT,
    execution: Execution = "auto",
) -> Any:
    """Return a windowed aggregation."""
    stores: dict[type, Any] = {SessionWindows: session_store, SlidingWindows: sliding_store}
    aggregator = count() if aggregator is None else aggregator
    store = stores.get(type(windows), window_store)("counts", key=key, value=aggregator.state)
    emit = once_per_batch() if emit is None else emit
    return windowed_aggregate(windows, aggregator, store=store, emit=emit, execution=execution)


def totals(aggregator: Any, *, execution: Execution = "auto") -> Any:
    """Return an aggregation without windows."""
    store = timestamped_store("totals", key=TEXT, value=aggregator.state)
    return aggregate(aggregator, store=store, execution=execution)


def directly_below(supplier: Any, topic: Any = CLICKS) -> TopologyBuilder:
    builder = TopologyBuilder("t")
    builder.add_processor("counted", supplier, builder.add_source("clicks", topic))
    return builder


def execution(topology: Topology, name: str = "counted") -> str | None:
    """Return the execution of a node from the description of the topology."""
    lines = [line.strip() for line in topology.describe().splitlines()]
    place = next(n for n, line in enumerate(lines) if line.startswith(f"Processor: {name} "))
    head, found, text = lines[place + 1].partition("execution: ")
    return text if found and not head else None


BY_ITSELF: dict[str, tuple[Callable[[Execution], Any], Any, str]] = {
    "custom-aggregator": (
        lambda how: counted(aggregator=Median(), execution=how),
        CLICKS,
        "the aggregator 'Median' has no column form",
    ),
    "function": (
        lambda how: counted(
            aggregator=fold(INT64, int, lambda state, _: state, merge=min),
            execution=how,
        ),
        CLICKS,
        "the aggregator 'fold' has no column form",
    ),
    "two-words": (
        lambda how: counted(aggregator=top_n(3, INT64), execution=how),
        CLICKS,
        "the aggregator 'top_n' has no column form",
    ),
    "values-of-text": (
        lambda how: counted(aggregator=last(TEXT), execution=how),
        Topic("clicks", TEXT, TEXT),
        "the aggregator 'last' has no column form for values of text",
    ),
    "one-of-several": (
        lambda how: counted(aggregator=combine(count(), collect(INT64)), execution=how),
        CLICKS,
        "the aggregator 'combine' has no column form for values of int64",
    ),
    "part-by-function": (
        lambda how: counted(aggregator=over(abs, sum_(INT64)), execution=how),
        CLICKS,
        "the aggregator 'over' has no column form for values of int64",
    ),
    "keys-of-json": (
        lambda how: counted(key=json_serde(dict[str, int]), execution=how),
        Topic("clicks", json_serde(dict[str, int]), INT64),
        "cannot be compared as bytes",
    ),
    "other-keys-in-the-store": (
        lambda how: counted(key=TEXT, execution=how),
        Topic("clicks", json_serde(str), INT64),
        "keys have the serde json[str], but are stored with text",
    ),
    "at-most-every": (
        lambda how: counted(emit=at_most_every(minutes(1)), execution=how),
        CLICKS,
        "at_most_every() processes each record separately",
    ),
    "every-of-sessions": (
        lambda how: counted(SessionWindows(minutes(1)), emit=every(minutes(1)), execution=how),
        CLICKS,
        "every() of SessionWindows has no column form",
    ),
    "every-of-sliding-windows": (
        lambda how: counted(SlidingWindows(minutes(1)), emit=every(minutes(1)), execution=how),
        CLICKS,
        "every() of SlidingWindows has no column form",
    ),
    "custom-windows": (
        lambda how: counted(Shifts(), execution=how),
        CLICKS,
        "windows of the kind Shifts have no column form",
    ),
    "without-windows": (
        lambda how: totals(collect(INT64), execution=how),
        CLICKS,
        "the aggregator 'collect' has no column form",
    ),
}


@pytest.mark.parametrize("case", BY_ITSELF)
def test_aggregation_without_column_form_reports_reason(case: str) -> None:
    make, topic, why = BY_ITSELF[case]
    reported = execution(directly_below(make("auto"), topic).build())
    assert reported is not None
    assert reported.startswith("records (")
    assert why in reported


@pytest.mark.parametrize("case", BY_ITSELF)
def test_build_rejects_execution_columns_of_aggregation_without_column_form(case: str) -> None:
    make, topic, why = BY_ITSELF[case]
    with pytest.raises(TopologyError) as caught:
        directly_below(make("columns"), topic).build()
    (problem,) = caught.value.problems
    assert problem.startswith("node 'counted' cannot run by columns: ")
    assert why in problem
    assert "execution='auto'" in problem


@pytest.mark.parametrize(
    "supplier",
    [
        counted(),
        counted(UnlimitedWindows(), sum_(INT64), emit=each_update()),
        counted(SessionWindows(minutes(1)), emit=on_close()),
        counted(SlidingWindows(minutes(1)), emit=on_close()),
        counted(emit=every(minutes(1))),
        totals(sum_(INT64)),
        totals(combine(count(), sum_(INT64)), execution="columns"),
    ],
)
def test_supported_aggregation_runs_by_columns(supplier: Any) -> None:
    assert execution(directly_below(supplier).build()) == "columns"


def test_execution_by_records_on_request_is_reported_as_requested() -> None:
    assert (
        execution(directly_below(counted(execution="records")).build())
        == "records (execution='records')"
    )


def test_execution_of_node_without_column_form_is_none() -> None:
    builder = TopologyBuilder("t")
    builder.add_processor(
        "kept", filter_(lambda key, value: True), builder.add_source("clicks", CLICKS)
    )
    assert execution(builder.build(), "kept") is None


def below_another(builder: TopologyBuilder, supplier: Any) -> None:
    clicks = builder.merge("merged", builder.add_source("clicks", CLICKS))
    builder.add_processor("counted", supplier, clicks)


def of_two_serdes(builder: TopologyBuilder, supplier: Any) -> None:
    views: Any = builder.add_source("views", Topic("views", TEXT, DOUBLE))
    builder.add_processor("counted", supplier, builder.add_source("clicks", CLICKS), views)


def of_a_source_that_skips(builder: TopologyBuilder, supplier: Any) -> None:
    clicks = builder.add_source("clicks", CLICKS, on_error="skip")
    builder.add_processor("counted", supplier, clicks)


class _Reader(Processor[Any, Any, str, int]):
    def process(self, record: Record[Any, Any]) -> None:
        pass


def with_a_shared_store(builder: TopologyBuilder, supplier: Any) -> None:
    clicks = builder.add_source("clicks", CLICKS)
    builder.add_processor("counted", supplier, clicks)
    builder.add_processor("reader", _Reader, clicks, stores=supplier.stores)


def above_a_mixed_node(builder: TopologyBuilder, supplier: Any) -> None:
    clicks: Any = builder.add_source("clicks", CLICKS)
    supplier = replace(supplier, plan=replace(supplier.plan, emit=each_update()))
    results = builder.add_processor("counted", supplier, clicks)
    builder.add_sink("out", to_stdout(), builder.merge("both", results, clicks))


SURROUNDINGS: list[tuple[Callable[[TopologyBuilder, Any], None], str]] = [
    (below_another, "it is below processor 'merged', rather than directly below a source"),
    (of_two_serdes, "its sources 'clicks' and 'views' have different serdes"),
    (of_a_source_that_skips, "'clicks' continues after failed records (on_error)"),
    (with_a_shared_store, "node 'reader' also uses its store"),
    (above_a_mixed_node, "node 'both' below it also gets records from other nodes"),
]


@pytest.mark.parametrize(("surround", "why"), SURROUNDINGS)
def test_reason_for_records_names_neighbors_that_require_records(
    surround: Callable[[TopologyBuilder, Any], None], why: str
) -> None:
    builder = TopologyBuilder("t")
    surround(builder, counted())
    topology = builder.build()
    assert execution(topology) == f"records ({why})"
    TopologyTestDriver(topology).close()
    builder = TopologyBuilder("t")
    surround(builder, counted(execution="columns"))
    with pytest.raises(TopologyError) as caught:
        builder.build()
    assert f"node 'counted' cannot run by columns: {why}" in caught.value.problems[0]


class Punctuating(Processor[Any, Any, Any, Any]):
    """Schedules a stream-time punctuator."""

    def init(self, context: ProcessorContext[Any, Any]) -> None:
        super().init(context)
        context.schedule(minutes(1), PunctuationType.STREAM_TIME, lambda _: None)

    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record)


def above(child: Any, emit: Any, how: Execution = "auto") -> Topology:
    builder = TopologyBuilder("t")
    clicks = builder.add_source("clicks", CLICKS)
    node: Any = builder.add_processor("counted", counted(emit=emit, execution=how), clicks)
    builder.add_sink("out", to_stdout(), builder.add_processor("child", child, node))
    return builder.build()


@pytest.mark.parametrize("emit", [on_close(), every(minutes(1))])
def test_possible_stream_time_punctuator_is_reported_as_condition(emit: Any) -> None:
    children: tuple[Any, ...] = (Punctuating, filter_(lambda key, value: True))
    for child in children:
        reported = execution(above(child, emit))
        assert reported == "columns (records if a node after it has a stream-time punctuator)"
    assert execution(above(Punctuating, each_update())) == "columns"


def test_execution_columns_before_stream_time_punctuator_fails_at_start() -> None:
    topology = above(Punctuating, on_close(), "columns")
    with pytest.raises(TopologyError, match="could run before its results") as caught:
        TopologyTestDriver(topology)
    assert caught.value.hint.startswith("leave execution='auto'")


class ByRecords:
    """An interceptor of record processors only."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def bind(self, node: str, task: TaskId, process: Callable[[Any], None]) -> Any:
        def noted(record: Any) -> None:
            self.calls.append("records")
            process(record)

        return noted


class Either(ByRecords):
    """An interceptor of record and column processors."""

    def bind_columns(self, node: str, task: TaskId, process_batch: Callable[[Any], None]) -> Any:
        def noted(table: Any) -> None:
            self.calls.append("columns")
            process_batch(table)

        return noted


@pytest.mark.parametrize(("interceptor", "how"), [(ByRecords(), "records"), (Either(), "columns")])
def test_interceptor_without_bind_columns_forces_execution_by_records(
    interceptor: Any, how: str
) -> None:
    topology = directly_below(totals(count())).build()
    with TopologyTestDriver(topology, interceptors=[interceptor]) as driver:
        driver.pipe(CLICKS, "key", 1, timestamp=1)
    assert interceptor.calls == [how]


def test_interceptor_without_bind_columns_fails_start_with_columns() -> None:
    topology = directly_below(counted(execution="columns")).build()
    with pytest.raises(TopologyError, match="an interceptor has no bind_columns"):
        TopologyTestDriver(topology, interceptors=[ByRecords()])
    TopologyTestDriver(topology, interceptors=[Either()]).close()


class _TwoLines(TextSerde):
    """A serde with a name that looks like a line of the description."""

    name = "text\n  execution: columns"


def test_describe_shows_multiline_reason_for_records_on_one_line() -> None:
    topology = directly_below(counted(key=_TwoLines()), Topic("clicks", _TwoLines(), INT64)).build()
    (line,) = [line for line in topology.describe().splitlines() if "execution:" in line[:30]]
    assert line.strip().startswith(
        "execution: records (keys have the serde text\\n  execution: columns, but"
    )


def test_reason_for_records_names_approx_count_distinct() -> None:
    pytest.importorskip("datasketches")
    reported = execution(directly_below(counted(aggregator=approx_count_distinct(INT64))).build())
    assert reported == "records (the aggregator 'approx_count_distinct' has no column form)"
