"""Metrics and traces of an app through the OpenTelemetry API, in the driver only.

The process configures the SDK and its exporters: the user's program, or `kstreams run --otel`
(`export.py`). Workers do not use OpenTelemetry. They send their measurements to the driver with
their results, and the driver makes spans with explicit start and end times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from heapq import nlargest

from opentelemetry import metrics, trace
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.util.types import Attributes

from kstreams.batch.messages.worker_times import PROCESS, READ, RESTORE, WRITE
from kstreams.batch.progress import COMMIT, JOB, PLAN, PUBLISH
from kstreams.batch.report import AppState, BatchReport, TaskReport
from kstreams.clock import Clock
from kstreams.embedded.connection import Embedded
from kstreams.errors import KStreamsError
from kstreams.quoting import kind_of
from kstreams.telemetry.formats import library_version
from kstreams.telemetry.log_context import note_in_log
from kstreams.telemetry.outline import Outline
from kstreams.telemetry.watching import OpenApp
from kstreams_otel import names

__all__ = ("OtelWatcher",)

_NS = 1_000_000_000
_MS_NS = 1_000_000
_TIMED = (READ, RESTORE, PROCESS, WRITE)
_MOST_TASKS = 64
"""The maximum number of tasks of a batch, the longest ones, that get spans."""


class OtelWatcher:
    """A `Watcher` that reports to the OpenTelemetry API; without an SDK the API drops the data.

    A batch is a span `kstreams.batch` with the children `plan`, `job`, `commit` and `publish`. A
    task is the spans `poll TOPIC`, `process GROUP` and `send TOPIC` below `job`.

    Args:
        app: The app id.
        clock: The clock of the app.
    """

    def __init__(self, app: str, clock: Clock) -> None:
        self._app = app
        self._clock = clock
        self._tracer = trace.get_tracer(names.SCOPE, library_version(), schema_url=names.SCHEMA_URL)
        meter = metrics.get_meter(names.SCOPE, library_version(), schema_url=names.SCHEMA_URL)
        self._spans: dict[str, Span] = {}
        self._reports: dict[str, BatchReport] = {}
        self._state = AppState.CREATED
        self._system = ""
        self._read: dict[str, tuple[str, ...]] = {}
        self._written: dict[str, tuple[str, ...]] = {}
        self._topics: dict[str, str] = {}
        self._sources: set[str] = set()
        count, histogram = meter.create_counter, meter.create_histogram
        self._consumed = count(names.CONSUMED, "{message}", "Messages that sources have consumed.")
        self._sent = count(names.SENT, "{message}", "Messages that sinks have sent.")
        bounds = names.DURATION_BOUNDS_S
        self._processing = histogram(
            names.PROCESS_DURATION,
            "s",
            "Duration of the processing of a batch by a task.",
            explicit_bucket_boundaries_advisory=bounds,
        )
        self._operations = histogram(
            names.OPERATION_DURATION,
            "s",
            "Duration of the polls and sends of a task in a batch.",
            explicit_bucket_boundaries_advisory=bounds,
        )
        self._phases = histogram(
            "kstreams.batch.duration",
            "s",
            "Duration of a phase of a batch.",
            explicit_bucket_boundaries_advisory=bounds,
        )
        self._records = count(
            "kstreams.node.records", "{record}", "Input and output records of a node."
        )
        self._dropped = count(
            "kstreams.records.dropped", "{record}", "Records that a node has dropped."
        )
        self._busy = count("kstreams.task.busy", "s", "Time of a task in a phase.")
        self._node_busy = count(
            "kstreams.node.busy", "s", "Processing time of a node, from samples."
        )
        self._requests = count("kstreams.log.requests", "{request}", "Requests to the durable log.")
        self._bytes = count(
            "kstreams.log.io", "By", "Bytes read from or written to the durable log."
        )
        self._restores = count("kstreams.restores", "{restore}", "Restores of a task's state.")
        self._moves = count("kstreams.task.moves", "{move}", "Moves of a task to another worker.")
        self._topic_bytes = count("kstreams.topic.io", "By", "Bytes of keys and values of a topic.")
        gauges: dict[str, tuple[str, str, Callable[[], Iterable[Observation]]]] = {
            "kstreams.source.lag": ("{record}", "Unread offsets of a source partition.", self._lag),
            "kstreams.record.latency": ("s", "Age of records at their commit.", self._ages),
            "kstreams.batch.committed": (
                "{batch}",
                "Number of the last committed batch.",
                self._batches,
            ),
            "kstreams.app.state": (
                "1",
                "1 for the state of the app, 0 for other states.",
                self._states,
            ),
        }
        for name, (unit, text, observe) in gauges.items():
            meter.create_observable_gauge(name, [_called(observe)], unit, text)

    # ------------------------------------------------------------ events of the app

    def begin(self) -> None:
        """Do nothing, because no query has started."""

    def opened(self, app: OpenApp) -> None:
        """Store which nodes read and write which topics."""
        embedded = isinstance(app.connection, Embedded)
        self._system = "kstreams_embedded" if embedded else "kafka"
        self._take_in(app.outline)

    def entered(self, state: AppState) -> None:
        """Store the state of the app for the next collection of metrics."""
        self._state = state

    def began(self, query: str, batch: int, planned_s: float) -> None:
        """Start the span of a batch; log lines then contain its trace id."""
        now = self._now()
        start = now - int(planned_s * _NS)
        about: dict[str, str | int] = {
            "kstreams.app": self._app,
            "kstreams.query": query,
            "kstreams.batch": batch,
        }
        span = self._tracer.start_span("kstreams.batch", start_time=start, attributes=about)
        self._spans[query] = span
        self._span(PLAN, span, start, now, {})
        if span.is_recording():
            note_in_log(trace_id=trace.format_trace_id(span.get_span_context().trace_id))

    def committed(self, report: BatchReport) -> None:
        """End the span of the batch, and add its counts to the metrics."""
        self._reports[report.query] = report
        self._count(report)
        span = self._spans.pop(report.query, None)
        if span is None:
            return
        end = self._now()
        bounds: dict[str, tuple[int, int]] = {}
        for phase in (PUBLISH, COMMIT, JOB):
            start = end - int(report.phases.get(phase, 0.0) * _NS)
            bounds[phase], end = (start, end), start
        start, end = bounds[JOB]
        job = self._span(JOB, span, start, end, {"kstreams.jobs": report.jobs}, ends=False)
        longest = nlargest(_MOST_TASKS, report.tasks, key=lambda task: sum(task.seconds.values()))
        for task in longest:
            self._spans_of(task, job, start, end)
        job.end(end)
        for phase in (COMMIT, PUBLISH):
            start, end = bounds[phase]
            self._span(phase, span, start, end, {})
        span.set_attribute(names.MESSAGE_COUNT, report.source_records)
        span.end(end)

    def failed(self, error: KStreamsError) -> None:
        """End open spans as failed, without the error's text, which may quote a record."""
        for span in self._spans.values():
            span.set_attribute(names.ERROR_TYPE, kind_of(error))
            span.set_status(Status(StatusCode.ERROR))
            span.end()
        self._spans.clear()

    def close(self) -> None:
        """End open spans. The interrupted batches will be retried."""
        for span in self._spans.values():
            span.end()
        self._spans.clear()

    # ------------------------------------------------------------ spans

    def _spans_of(self, task: TaskReport, job: Span, first: int, last: int) -> None:
        """Create a task's spans, limited to the span of its job even if clocks differ.

        Args:
            task: The task.
            job: The span of the job.
            first: The start of the job, ns since the epoch.
            last: The end of the job, ns since the epoch.
        """
        seconds = {phase: int(task.seconds.get(phase, 0.0) * _NS) for phase in _TIMED}
        began = task.began_ms * _MS_NS
        latest = max(last - sum(seconds.values()), first)
        at = min(max(began, first), latest)
        place = {"kstreams.group": task.task.group, names.PARTITION: str(task.task.partition)}
        about: dict[str, str | int] = {
            names.SYSTEM: self._system,
            names.CONSUMER_GROUP: self._app,
            **place,
        }
        read = self._read.get(task.task.group, ())
        if read:
            self._operation("poll", read, SpanKind.CLIENT, job, at, at + seconds[READ], about)
        at += seconds[READ] + seconds[RESTORE]
        told = {**about, names.OPERATION: "process", names.MESSAGE_COUNT: task.records}
        told |= {"kstreams.worker": task.worker, "kstreams.attempts": task.attempts}
        name, end = f"process {task.task.group}", at + seconds[PROCESS]
        self._span(name, job, at, end, told, kind=SpanKind.CONSUMER)
        written = self._written.get(task.task.group, ())
        if written:
            kind = SpanKind.PRODUCER
            self._operation("send", written, kind, job, end, end + seconds[WRITE], about)

    def _operation(
        self,
        operation: str,
        topics: tuple[str, ...],
        kind: SpanKind,
        job: Span,
        start: int,
        end: int,
        about: Mapping[str, str | int],
    ) -> None:
        told = {**about, names.OPERATION: operation}
        if len(topics) == 1:
            told[names.DESTINATION] = topics[0]
        self._span(" ".join((operation, *topics[:1])), job, start, end, told, kind=kind)

    def _span(
        self,
        name: str,
        parent: Span,
        start: int,
        end: int,
        about: Attributes,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        ends: bool = True,
    ) -> Span:
        context = trace.set_span_in_context(parent)
        made = self._tracer.start_span(name, context, kind=kind, attributes=about, start_time=start)
        if ends:
            made.end(end)
        return made

    def _now(self) -> int:
        return self._clock.now_ms() * _MS_NS

    # ------------------------------------------------------------ metrics

    def _count(self, report: BatchReport) -> None:
        own = {"kstreams.app": self._app, "kstreams.query": report.query}
        for phase, seconds in report.phases.items():
            self._phases.record(seconds, {**own, "kstreams.phase": phase})
        for node, counts in report.nodes.items():
            about = {**own, "kstreams.node": node}
            self._records.add(
                counts.records_in - counts.held, {**about, "kstreams.direction": "in"}
            )
            self._records.add(counts.records_out, {**about, "kstreams.direction": "out"})
            for reason, number in counts.dropped.items():
                self._dropped.add(number, {**about, "kstreams.reason": reason})
            self._count_messages(node, counts.records_in, counts.records_out)
        for topic, counts_of in report.topics.items():
            about = {**own, names.DESTINATION: topic}
            for way, size in (("in", counts_of.bytes_in), ("out", counts_of.bytes_out)):
                self._topic_bytes.add(size, {**about, "kstreams.direction": way})
        self._moves.add(sum(move.from_worker is not None for move in report.moves), own)
        for node, seconds in report.node_seconds.items():
            self._node_busy.add(seconds, {**own, "kstreams.node": node})
        for task in report.tasks:
            self._count_task(task, own)
        log = report.log
        for operation, requests in (
            ("put", log.puts),
            ("get", log.gets),
            ("list", log.lists),
            ("delete", log.deletes),
        ):
            self._requests.add(requests, {**own, "kstreams.operation": operation})
        self._bytes.add(log.put_bytes, {**own, "kstreams.operation": "put"})
        self._bytes.add(log.get_bytes, {**own, "kstreams.operation": "get"})

    def _count_messages(self, node: str, came: int, went: int) -> None:
        topic = self._topics.get(node)
        if topic is None:
            return
        about = {
            names.SYSTEM: self._system,
            names.DESTINATION: topic,
            names.CONSUMER_GROUP: self._app,
        }
        if node in self._sources:
            self._consumed.add(came, {**about, names.OPERATION: "poll"})
        else:
            self._sent.add(went, {**about, names.OPERATION: "send"})

    def _count_task(self, task: TaskReport, own: Mapping[str, str]) -> None:
        group = task.task.group
        partition = str(task.task.partition)
        place = {**own, "kstreams.group": group, "kstreams.partition": partition}
        for phase, seconds in task.seconds.items():
            self._busy.add(seconds, {**place, "kstreams.phase": phase})
        if task.restored:
            self._restores.add(1, {**own, "kstreams.group": group})
        about = {names.SYSTEM: self._system, names.CONSUMER_GROUP: self._app}
        told = {**about, names.OPERATION: "process", "kstreams.group": group}
        self._processing.record(task.seconds.get(PROCESS, 0.0), told)
        for operation, phase, topics in (
            ("poll", READ, self._read),
            ("send", WRITE, self._written),
        ):
            if group in topics:
                told = {**about, names.OPERATION: operation, "kstreams.group": group}
                self._operations.record(task.seconds.get(phase, 0.0), told)

    def _take_in(self, outline: Outline) -> None:
        nodes = [(group.name, node) for group in outline.groups for node in group.nodes]
        self._topics = {node.name: node.topic for _, node in nodes if node.topic}
        self._sources = {node.name for _, node in nodes if node.kind == "source"}
        for kind, found in (("source", self._read), ("sink", self._written)):
            for group, node in nodes:
                if node.kind == kind:
                    found[group] = (*found.get(group, ()), node.topic)

    def _lag(self) -> Iterable[Observation]:
        for query, report in list(self._reports.items()):
            for place, records in report.lag.items():
                about = {names.DESTINATION: place.topic, names.PARTITION: str(place.partition)}
                yield Observation(records, {"kstreams.query": query, **about})

    def _ages(self) -> Iterable[Observation]:
        for query, report in list(self._reports.items()):
            for share in (0.5, 0.99):
                age = report.latency.quantile_ms(share)
                if age is not None:
                    about = {"kstreams.query": query, "kstreams.quantile": str(share)}
                    yield Observation(age / 1000, about)

    def _batches(self) -> Iterable[Observation]:
        for query, report in list(self._reports.items()):
            yield Observation(report.batch, {"kstreams.query": query})

    def _states(self) -> Iterable[Observation]:
        for state in AppState:
            about = {"kstreams.app": self._app, "kstreams.state": state.value}
            yield Observation(int(state is self._state), about)


def _called(
    observe: Callable[[], Iterable[Observation]],
) -> Callable[[CallbackOptions], Iterable[Observation]]:
    return lambda _: observe()
