"""Rows of a DataFrame whose key or value the serdes of the topic cannot encode.

The rows are sent to the task separately, with the errors. The task applies the source's `on_error`,
as for records that cannot be decoded: it skips and counts them, or writes dead letters.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from kstreams.batch.messages.edge_records import EdgeRecords
from kstreams.errors import KStreamsError, LimitError, RegistryUnavailableError, SerializationError
from kstreams.graph.nodes import SourceNode
from kstreams.processors.on_error import DeadLetter, OnError
from kstreams.quoting import kind_of, safe_text
from kstreams.serde.base import Serde
from kstreams.spark.frames.typed_columns import encoded
from kstreams.state.log.totals import NodeCounts
from kstreams.task.failures.dead_letters import letter_of_record
from kstreams.task.output.collector import Collector
from kstreams.task.records.queues import Queue
from kstreams.topic import Topic

__all__ = ("UNFIT", "encoded_rows", "fit_and_unfit", "set_aside")

UNFIT = "unfit"
"""An additional text column of such rows: the reason."""

_ROLES = ("key", "value")
_MAX_CHARS = 1_000


def encoded_rows(table: pa.Table, topic: Topic[Any, Any]) -> pa.Table:
    """Return rows with keys and values as bytes.

    Raises:
        SerializationError: A value cannot be encoded.
    """
    for role in _ROLES:
        column = table.column(role).combine_chunks()
        if column.type != pa.binary():
            place = table.column_names.index(role)
            table = table.set_column(place, role, encoded(column, _serde(topic, role)))
    return table


def fit_and_unfit(
    table: pa.Table, topic: Topic[Any, Any], policy: OnError
) -> tuple[pa.Table, pa.Table | None]:
    """Return the rows with encoded keys and values, and the rows that cannot be encoded.

    Args:
        table: The rows, with types that the serdes accept.
        topic: The topic of the rows.
        policy: The policy of the source.

    Returns:
        The encoded rows, and the other rows (None without any) with the column `UNFIT` and JSON
        text for values that cannot be encoded.

    Raises:
        SerializationError: A value is invalid, and the policy is to fail.
    """
    try:
        return encoded_rows(table, topic), None
    except KStreamsError as exc:
        if policy == "fail" or _is_no_record_s(exc):
            raise
    wrong: dict[int, str] = {}
    for role in _ROLES:
        column = table.column(role).combine_chunks()
        if column.type != pa.binary():
            wrong |= {row: error.message for row, error in _failing(column, _serde(topic, role))}
    is_wrong = pa.array([row in wrong for row in range(table.num_rows)])
    is_right = pa.array([row not in wrong for row in range(table.num_rows)])
    unfit = table.filter(is_wrong)
    for role in _ROLES:
        place, column = unfit.column_names.index(role), unfit.column(role).combine_chunks()
        unfit = unfit.set_column(place, role, _shown(column, _serde(topic, role)))
    reasons = [safe_text(text, _MAX_CHARS) for _, text in sorted(wrong.items())]
    return (
        encoded_rows(table.filter(is_right), topic),
        unfit.append_column(UNFIT, pa.array(reasons, pa.string())),
    )


def set_aside(
    parts: Iterable[EdgeRecords], sources: Sequence[SourceNode], task: int, wall_ms: int
) -> tuple[dict[str, NodeCounts], list[tuple[str, pa.Table]]]:
    """Apply the policy of the source to rows that cannot be encoded.

    Args:
        parts: The rows, with the column `UNFIT`.
        sources: The sources of the group.
        task: Number of the task.
        wall_ms: The batch's wall time, ms since the epoch.

    Returns:
        The counts of these rows by source, and the dead letters: a sink's name, and a table of
        `kstreams.raw_batch.OUTPUT_SCHEMA`.
    """
    policies = {node.name: node.on_error for node in sources}
    counts: dict[str, NodeCounts] = {}
    letters: dict[str, Collector] = {}
    for part in parts:
        given, policy = part.queue(), policies[part.entry]
        queue = Queue(given.entry, given.topic, task, given.table)
        for row, text in enumerate(given.table.column(UNFIT).to_pylist()):
            error = SerializationError(text).at(node=given.entry, topic=given.topic)
            is_letter = isinstance(policy, DeadLetter)
            reason = f"{'dead-letter' if is_letter else 'skipped'}-{kind_of(error)}"
            one = NodeCounts(records_in=1, dropped={reason: 1})
            counts[part.entry] = counts.get(part.entry, NodeCounts()) + one
            if isinstance(policy, DeadLetter):
                own = letters.setdefault(policy.topic, Collector.of_dead_letters(policy))
                own.take(letter_of_record(queue, row, error, wall_ms))
    tables = [(f"dead-letter:{topic}", own.drain()) for topic, own in letters.items()]
    return counts, [(name, table) for name, table in tables if table is not None]


def _serde(topic: Topic[Any, Any], role: str) -> Serde[Any]:
    found: Serde[Any] = topic.key if role == "key" else topic.value
    return found


def _is_no_record_s(exc: KStreamsError) -> bool:
    return isinstance(exc, (LimitError, RegistryUnavailableError))


def _failing(
    column: pa.Array, serde: Serde[Any], first: int = 0
) -> Iterator[tuple[int, KStreamsError]]:
    """Yield the numbers of the rows that cannot be encoded, each with its error.

    The column is halved repeatedly to find them. `first` is the number of its first row.
    """
    try:
        encoded(column, serde)
    except KStreamsError as exc:
        if _is_no_record_s(exc):
            raise
        if len(column) == 1:
            yield first, exc
            return
        half = len(column) // 2
        yield from _failing(column.slice(0, half), serde, first)
        yield from _failing(column.slice(half), serde, first + half)


def _shown(column: pa.Array, serde: Serde[Any]) -> pa.Array:
    """Return the encoded rows of a column; a row that cannot be encoded becomes JSON text."""
    if column.type == pa.binary():
        return column
    failing = {row for row, _ in _failing(column, serde)}
    shown = [
        json.dumps(column[row].as_py(), default=str).encode()
        if row in failing
        else encoded(column.slice(row, 1), serde)[0].as_py()
        for row in range(len(column))
    ]
    return pa.array(shown, pa.binary())
