"""Sinks other than topics, and the id of a batch's results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from kstreams.record import Record

__all__ = ("CommitId", "Guarantee", "RefusedRow", "Results", "Sink", "Writer")

K_co = TypeVar("K_co", covariant=True)
"""Type of the results' keys."""
V_co = TypeVar("V_co", covariant=True)
"""Type of the results' values."""
K_contra = TypeVar("K_contra", contravariant=True)
"""Type of the keys that a sink accepts."""
V_contra = TypeVar("V_contra", contravariant=True)
"""Type of the values that a sink accepts."""

Guarantee = Literal["exactly-once", "effectively-once", "at-least-once"]
"""The delivery guarantee of a sink.

`exactly-once`: each result is visible once. `effectively-once`: a repeated write has no further
effect. `at-least-once`: results may be repeated, each with the same `CommitId` and number.
"""


@dataclass(frozen=True)
class CommitId:
    """The id of one task's results for one sink in one batch; equal in each attempt and replay.

    Attributes:
        epoch: The epoch of the query. A reset, an upgrade that rewrites state, a rebuilt store and
            a fork start a new epoch, whose batches are numbered from 0.
        sink: The name of the sink's node.
        task: The partition of the task.
        batch: The number of the batch, which increases within an epoch.
        revision: The plan revision. A smaller plan after a failed attempt has a higher revision,
            and its results replace those of lower revisions.
        fingerprint: The fingerprint of the topology; not part of the id.
    """

    epoch: str
    sink: str
    task: int
    batch: int
    revision: int = 0
    fingerprint: str = field(default="", compare=False)

    @property
    def order(self) -> tuple[int, int]:
        """A tuple that increases with each commit of the same epoch, sink and task."""
        return self.batch, self.revision

    def __str__(self) -> str:
        """Return the id as text, as in the headers of dead letters."""
        number = f"{self.batch}.{self.revision}" if self.revision else str(self.batch)
        return f"{self.epoch}/{self.sink}/{self.task}/{number}"


@dataclass(frozen=True)
class RefusedRow:
    """A result that the destination rejects because of its type, its length or a constraint.

    Attributes:
        row: The number of the result in `Results.records`.
        reason: The reason in the words of the destination; safe to print.
        letter: Key and value of the dead letter: the identity and the content of the row, as bytes.
        code: The error code of the destination, such as an SQLSTATE; empty without one.
    """

    row: int
    reason: str
    letter: Record[bytes | None, bytes | None]
    code: str = ""


class Results(Protocol[K_co, V_co]):
    """The results of one task for one sink in one batch, in order of forwarding; never empty."""

    def __len__(self) -> int:
        """Return the number of results."""
        ...

    def records(self) -> Sequence[Record[K_co, V_co]]:
        """Return the results as records.

        If a batch runs again with an equal `CommitId`, each row number means the same result.
        """
        ...

    def columns(self) -> pa.Table:
        """Return the results as a table: key, value, timestamp (ms since the epoch), headers.

        Results that were forwarded as tables are not converted to objects.

        Raises:
            pa.ArrowException, TypeError, OverflowError: Keys or values do not fit an Arrow column.
        """
        ...

    def refuse(self, row: RefusedRow) -> None:
        """Apply the sink's `on_refused` policy to a result that the destination rejects.

        A writer that finds the rows of the commit in the destination refuses the same rows again.

        Raises:
            RecordRefusedError: The policy is to fail. The writer must undo all rows of the batch.
        """
        ...


class Writer(Protocol[K_contra, V_contra]):
    """Writes results in a worker.

    A writer stays open across batches, and serves one task at a time. A writer that has raised an
    error is closed; the next attempt opens another.
    """

    def write(self, results: Results[K_contra, V_contra], commit: CommitId) -> Sequence[str]:
        """Write a batch's results, durably on return, before the batch is committed.

        A repeated commit and an older commit must change nothing, unless the sink's guarantee is
        `at-least-once`.

        Returns:
            Texts that `Sink.publish` needs to make the results visible; empty if they are visible
            already.

        Raises:
            SinkUnavailableError: The destination does not answer; the batch fails and is retried.
            SinkError: The destination is unsuitable for the sink.
            RecordRefusedError: Raised by `Results.refuse`.
        """
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


@runtime_checkable
class Sink(Protocol[K_contra, V_contra]):
    """The settings of a destination for results: picklable, and without secrets in its texts.

    `prepare` and `publish` run on the driver, `open` in each worker.

    Attributes:
        label: The label of the sink in diagrams of the topology.
        guarantee: The delivery guarantee after any failure.

    Source: Kafka Connect's `SinkTask`, with an id for each commit instead of offsets.
    """

    @property
    def label(self) -> str:
        """The label of the sink in diagrams of the topology."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """The delivery guarantee after any failure."""
        ...

    def prepare(self) -> None:
        """Check the destination before the first batch of a run, and create the required parts.

        Raises:
            SinkUnavailableError: The destination does not answer.
            SinkError: The destination is unsuitable for the sink.
        """
        ...

    def open(self) -> Writer[K_contra, V_contra]:
        """Open a writer in a worker."""
        ...

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Publish staged results after the commit of their batch.

        The call may be repeated with the same receipts. All results of a batch are published before
        the next batch is written.

        Args:
            receipts: The return values of `write` of each task, in one batch.
        """
        ...
