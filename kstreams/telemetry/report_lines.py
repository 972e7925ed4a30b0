"""`reports/<query>.jsonl`: a line for each committed batch of the last hours.

    {"f": 1, "b": 1234,                        number of the batch
     "ms": .., "secs": 0.221,                  when it was committed, ms since the epoch; how long
     "s": {"wait": .01, "plan": .002, "job": .18, "commit": .004, "publish": .01},
     "rec": [9951, 1227], "looped": 0, "published": 4, "jobs": 1,
     "lag": {"lines/3": 812},                  offsets left, by partition; the largest 256
     "nodes": {"split": [1227, 9951, 0, {}], "count": [9951, 9951, 0, {"late": 3}]},
     "tasks": {"by-word/3": [2401, 13789, "host/4711", 1, false,
                             {"read": .02, "process": .07, "write": .02}, {"count": .06, "": .01},
                             {"counts": 1200}, 1700000000000]},
     "lat": {"counts": [0, 3, ..], "sum_ms": 90},
     "log": [5, 13789, 0, 0, 0, 0],            PUT and bytes, GET and bytes, LIST, DELETE
     "samples": [["count", "late", "lines/3", 1902]],
     "topics": {"lines": [1227, 91022, 0, 0]},
     "moves": {"by-word/3": ["host/4711", "host/4722", true]}}

`rec` has the processed records, and the records from topics. A node has records in, out and held
for a later batch, and dropped records by reason. A task has records, bytes written to the log,
worker, attempts, whether it was restored, seconds by phase, estimated seconds by node (`""`:
outside of nodes), the rows of its stores before the batch, and its start by its worker's clock. A
line has the 256 longest tasks. `lat` is `Latency`. A topic has records and bytes in, records and
bytes out; a move has the previous worker (null: none), the new worker, and whether the state was
restored. Earlier versions of the library wrote neither topics nor moves. A line is read as a
`BatchReport` without `totals`, which are in the commit. Each query has two files of 8 MB; an object
storage keeps at least the last hour.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import nlargest
from typing import Any

from kstreams.batch.messages.latency import Latency
from kstreams.batch.report import BatchReport, TaskReport
from kstreams.batch.task_moves import TaskMove
from kstreams.ids import TaskId, TopicPartition, parse_keys, text_keys
from kstreams.names import path_step
from kstreams.state.log.fields import Fields, WrongFieldError, checked_integer, checked_text
from kstreams.state.log.topic_counts import bounded_topics, topics_from_json, topics_to_json
from kstreams.state.log.totals import NodeCounts, by_reason
from kstreams.state.log.traffic import Traffic
from kstreams.task.progress.drop_sample import DropSample

__all__ = ("checked_seconds", "from_line", "reports_name", "to_line")

_MOST = 256
_DIGITS = 6


def reports_name(query: str) -> str:
    """Return the name of the file with the reports of a query."""
    return f"reports/{path_step(query)}.jsonl"


def to_line(report: BatchReport) -> dict[str, Any]:
    """Return a report as JSON data."""
    longest = nlargest(_MOST, report.tasks, key=lambda task: sum(task.seconds.values()))
    named = {task.task for task in longest}
    moves = report.moves[:_MOST]
    lag = nlargest(_MOST, report.lag.items(), key=lambda item: item[1])
    return {
        "b": report.batch,
        "ms": report.committed_ms,
        "secs": round(report.seconds, _DIGITS),
        "s": _rounded(report.phases),
        "rec": [report.records, report.source_records],
        "looped": report.looped,
        "published": report.published,
        "jobs": report.jobs,
        "lag": text_keys({place: count for place, count in lag if count}),
        "nodes": {name: counts.bounded().to_json() for name, counts in report.nodes.items()},
        "tasks": {str(task.task): _of_task(task) for task in report.tasks if task.task in named},
        "lat": report.latency.to_json(),
        "log": report.log.to_json(),
        "samples": [sample.to_json() for sample in report.samples],
        "topics": topics_to_json(bounded_topics(report.topics)),
        "moves": {str(m.task): [m.from_worker, m.to_worker, m.restored] for m in moves},
    }


def from_line(query: str, fields: Fields) -> BatchReport:
    """Parse the result of `to_line`; a `ValueError` describes the first wrong field.

    Args:
        query: Name of the query.
        fields: The fields of the line.
    """
    records, source_records = (checked_integer(n, "a count") for n in fields.items("rec"))
    nodes = {name: NodeCounts.from_json(c) for name, c in fields.mapping("nodes").items()}
    lag = parse_keys(TopicPartition, fields.integers("lag"))
    tasks = parse_keys(TaskId, fields.mapping("tasks"))
    return BatchReport(
        query,
        fields.integer("b"),
        records=records,
        source_records=source_records,
        dropped=by_reason(nodes),
        published=fields.integer("published"),
        seconds=_number(fields.anything("secs")),
        backlog=sum(lag.values()),
        log=Traffic.from_json(checked_integer(n, "a count") for n in fields.items("log")),
        looped=fields.integer("looped"),
        nodes=nodes,
        committed_ms=fields.integer("ms"),
        phases=checked_seconds(fields.mapping("s")),
        tasks=tuple(_read_task(task, data) for task, data in tasks.items()),
        lag=lag,
        latency=Latency.from_json(fields.anything("lat")),
        samples=tuple(map(DropSample.from_json, fields.items("samples"))),
        jobs=fields.integer("jobs", least=1),
        topics=topics_from_json(fields.mapping("topics", {})),
        moves=tuple(
            _read_move(task, move)
            for task, move in parse_keys(TaskId, fields.mapping("moves", {})).items()
        ),
    )


def checked_seconds(data: Mapping[str, object]) -> dict[str, float]:
    """Return the seconds by name, checked; a `ValueError` describes the first wrong field."""
    return {name: _number(seconds) for name, seconds in data.items()}


def _of_task(task: TaskReport) -> list[object]:
    return [
        task.records,
        task.put_bytes,
        task.worker,
        task.attempts,
        task.restored,
        _rounded(task.seconds),
        _rounded(task.node_seconds),
        dict(task.rows),
        task.began_ms,
    ]


def _read_task(task: TaskId, data: object) -> TaskReport:
    match data:
        case [
            records,
            put_bytes,
            worker,
            attempts,
            bool(restored),
            dict(seconds),
            dict(nodes),
            dict(rows),
            began_ms,
        ]:
            return TaskReport(
                task,
                checked_integer(records, "a count of records"),
                checked_seconds(seconds),
                checked_integer(put_bytes, "a size"),
                checked_text(worker, "a worker"),
                checked_integer(attempts, "a count of attempts"),
                restored,
                checked_seconds(nodes),
                {store: checked_integer(count, "a count of rows") for store, count in rows.items()},
                checked_integer(began_ms, "a time"),
            )
        case _:
            raise WrongFieldError(
                f"expected nine fields in the report of task {task}, got {data!r:.80}"
            )


def _read_move(task: TaskId, data: object) -> TaskMove:
    match data:
        case [before, worker, bool(restored)]:
            known = None if before is None else checked_text(before, "a worker")
            return TaskMove(task, known, checked_text(worker, "a worker"), restored)
        case _:
            raise WrongFieldError(
                f"expected a list of the previous worker, the worker and whether the state was "
                f"restored, for the move of task {task}; got {data!r:.80}"
            )


def _rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, _DIGITS) for name, value in seconds.items()}


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e12:
        raise WrongFieldError(f"expected a number of seconds from 0 to 1e12, got {value!r:.80}")
    return float(value)
