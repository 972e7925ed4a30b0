"""The output of a worker's tasks for sinks other than topics."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from kstreams.call_site import origin_text
from kstreams.errors import KStreamsError, ProcessingError, RecordRefusedError, SinkError
from kstreams.graph.nodes import SinkNode
from kstreams.graph.topology import PartitionGroup
from kstreams.quoting import kind_of, safe_text, text_of, traceback_of
from kstreams.record import Record
from kstreams.sink import CommitId, RefusedRow, Sink, Writer
from kstreams.state.log.receipts import Receipts
from kstreams.task.failures.refusals import Refusals
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.output.results import SinkInput
from kstreams.topic_limits import Limits

__all__ = ("SinkWriters", "sinks_of", "write_results")

_LOG = logging.getLogger(__name__)
_REASON_CHARS = 1_000


@dataclass(frozen=True)
class SinkWriters:
    """The writers of one process; a writer stays open from batch to batch."""

    _open: dict[tuple[str, str], tuple[Sink[Any, Any], Writer[Any, Any]]] = field(
        default_factory=dict
    )

    def get(self, owner: str, name: str, sink: Sink[Any, Any]) -> Writer[Any, Any]:
        """Return the writer of a sink; the first call opens it.

        Args:
            owner: The epoch of the sink's query in commit ids; the sinks of a query have unique
                names.
            name: The name of the sink.
            sink: The sink. If it is another object than before, the app was started again, and the
                writer of the new sink is opened.
        """
        known = self._open.get((owner, name))
        if known is not None and known[0] is sink:
            return known[1]
        self.drop(owner, name)
        writer = sink.open()
        self._open[owner, name] = sink, writer
        return writer

    def drop(self, owner: str, name: str) -> None:
        """Close a sink's writer, also after an error; the next `get` opens a new one."""
        known = self._open.pop((owner, name), None)
        if known is None:
            return
        try:
            known[1].close()
        except Exception as exc:  # noqa: BLE001  # of a plugin; an earlier error matters more
            _LOG.warning("the writer of sink %r cannot be closed: %s", name, text_of(exc))

    def close(self) -> None:
        """Close all writers."""
        for owner, name in list(self._open):
            self.drop(owner, name)


@dataclass
class _Results:
    """The `Results` for the writer of one sink; `refuse` applies the policy for rejected rows."""

    node: SinkNode
    given: SinkInput
    commit: CommitId
    refusals: Refusals

    def __len__(self) -> int:
        return len(self.given)

    def records(self) -> Sequence[Record[Any, Any]]:
        return self.given.records()

    def columns(self) -> pa.Table:
        return self.given.columns()

    def refuse(self, row: RefusedRow) -> None:
        target = _label(self.node)
        code = f" ({safe_text(row.code, 40)})" if row.code else ""
        error = RecordRefusedError(
            f"{target} rejects a result{code}: {safe_text(row.reason, _REASON_CHARS)}",
            row.code,
            hint=RecordRefusedError.WAY_ON,
        ).at(target=target, timestamp=row.letter.timestamp, key=row.letter.key)
        self.refusals.take(target, row.letter, error, commit=f"{self.commit}/{row.row}")


def sinks_of(group: PartitionGroup) -> dict[str, Sink[Any, Any]]:
    """Return the sinks of a group that are not topics, by node."""
    return {node.name: node.target for node in group.sinks if isinstance(node.target, Sink)}


def write_results(
    output: TaskOutput,
    group: PartitionGroup,
    writers: SinkWriters,
    commits: Mapping[str, CommitId],
    limits: Limits,
) -> tuple[Receipts, ...]:
    """Write the results of a batch to sinks other than topics, before the results for topics.

    Dead letters of rejected rows are added to the output.

    Args:
        output: The output of the task.
        group: The group of the task.
        writers: The writers of the process.
        commits: The commit id of each sink.
        limits: The limits of topics, for dead letters.

    Returns:
        The receipts to publish after the commit.

    Raises:
        SinkUnavailableError, SinkError, RecordRefusedError: As for `Writer.write`.
        ProcessingError: A writer raised another exception.
    """
    receipts: list[Receipts] = []
    nodes = {node.name: node for node in group.sinks}
    sinks = sinks_of(group)
    for name, given in output.results.items():
        node, commit = nodes[name], commits[name]
        refusals = Refusals(node, output, limits)
        results = _Results(node, given, commit, refusals)
        try:
            written = writers.get(commit.epoch, name, sinks[name]).write(results, commit)
        except KeyboardInterrupt:
            raise
        except BaseException as exc:
            writers.drop(commit.epoch, name)
            raise _located(exc, node) from exc
        refusals.settle()
        if written:
            receipts.append(Receipts(commit, tuple(written)))
    return tuple(receipts)


def _label(node: SinkNode) -> str:
    return str(getattr(node.target, "label", node.name))


def _located(exc: BaseException, node: SinkNode) -> KStreamsError:
    """Return the typed error for an exception of a writer, with the name of its sink."""
    origin = origin_text((node,), node.name)
    if isinstance(exc, KStreamsError):
        known = {"target": _label(node)} if _is_sinks(exc) else {}
        return exc.at(node=node.name, origin=origin, **known)
    return ProcessingError(
        f"a sink's writer raised {kind_of(exc)}: {text_of(exc)}",
        cause_type=kind_of(exc),
        cause_traceback=traceback_of(exc),
        hint="nothing of this batch was kept; fix the writer and restart.",
    ).at(node=node.name, origin=origin, target=_label(node))


def _is_sinks(exc: KStreamsError) -> bool:
    return isinstance(exc, (SinkError, RecordRefusedError))
