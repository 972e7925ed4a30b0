"""Where results go that is no topic: what such a place is, and what names a batch's part of it."""

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
"""Type of the keys that a sink takes."""
V_contra = TypeVar("V_contra", contravariant=True)
"""Type of the values that a sink takes."""

Guarantee = Literal["exactly-once", "effectively-once", "at-least-once"]
"""Each result is seen once; what is written twice looks as if it were written once; results may
come again, each under the same `CommitId` and number."""


@dataclass(frozen=True)
class CommitId:
    """Names what one task gives one sink in one batch: equal for each attempt and replay.

    Attributes:
        life: Of the query's batches. A reset, an upgrade that rewrites state, a rebuilt store and a
            fork begin another, whose batches are counted anew.
        sink: Name of the sink's node.
        task: The task's partition.
        batch: Number of the batch; rises within a life.
        revision: Of the plan by which the task read less than in an attempt before. Results of
            a higher one take the place of those of a lower one.
        fingerprint: Of the topology that made the results; no part of the id.
    """

    life: str
    sink: str
    task: int
    batch: int
    revision: int = 0
    fingerprint: str = field(default="", compare=False)

    @property
    def order(self) -> tuple[int, int]:
        """What a later commit of the same life, sink and task has more of."""
        return self.batch, self.revision

    def __str__(self) -> str:
        """Return it as one text, as headers of dead letters have it."""
        number = f"{self.batch}.{self.revision}" if self.revision else str(self.batch)
        return f"{self.life}/{self.sink}/{self.task}/{number}"


@dataclass(frozen=True)
class RefusedRow:
    """A result that the place does not take: by its type, its length, a constraint.

    Attributes:
        row: Its number in `Results.records`.
        reason: Why, as the place says it; safe to show.
        letter: The result in bytes, for a dead letter: what names the row, what it has.
        code: The place's name for the reason, such as an SQLSTATE; empty if there is none.
    """

    row: int
    reason: str
    letter: Record[bytes | None, bytes | None]
    code: str = ""


class Results(Protocol[K_co, V_co]):
    """What one task gives one sink in one batch, in the order of forwarding; never empty."""

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def records(self) -> Sequence[Record[K_co, V_co]]:
        """Return them as records. Number `n` of a `CommitId` is always the same result."""
        ...

    def columns(self) -> pa.Table:
        """Return them as a table: key, value, timestamp (ms since the epoch), headers.

        What was forwarded as tables comes without objects between.

        Raises:
            pa.ArrowException, TypeError, OverflowError: Keys or values fit no column.
        """
        ...

    def refuse(self, row: RefusedRow) -> None:
        """Leave a result out, as the sink's `on_refused` says.

        A writer that finds a commit done before refuses the same rows again.

        Raises:
            RecordRefusedError: The policy is to fail. Nothing of the batch may stay.
        """
        ...


class Writer(Protocol[K_contra, V_contra]):
    """Writes results, in a worker: open from batch to batch, for one task after the other.

    One that has raised is closed; the next attempt opens another.
    """

    def write(self, results: Results[K_contra, V_contra], commit: CommitId) -> Sequence[str]:
        """Write a batch's results, durably on return, before the batch is committed.

        The same commit again, and an older one, change nothing, if the sink's guarantee is to
        mean something.

        Returns:
            What `Sink.publish` needs to show them; empty where they are shown already.

        Raises:
            SinkUnavailableError: The place does not answer: the batch fails, and comes again.
            SinkError: The place is not as the sink needs it.
            RecordRefusedError: From `Results.refuse`.
        """
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


@runtime_checkable
class Sink(Protocol[K_contra, V_contra]):
    """A place for results, as data: picklable, and without a secret in its texts.

    `prepare` and `publish` run on the driver, `open` in each worker.

    Attributes:
        label: What pictures of the topology show.
        guarantee: How often a result is seen, whatever dies.

    Source: Kafka Connect's `SinkTask`, with a name for each commit in place of offsets.
    """

    @property
    def label(self) -> str:
        """What pictures of the topology show."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """How often a result is seen, whatever dies."""
        ...

    def prepare(self) -> None:
        """Look at the place before the first batch of a run, and make there what is needed.

        Raises:
            SinkUnavailableError: It does not answer.
            SinkError: It is not as the sink needs it.
        """
        ...

    def open(self) -> Writer[K_contra, V_contra]:
        """Open a writer."""
        ...

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Show what `write` has returned, after its batch is committed.

        May be called again with the same receipts, and is called with those of one batch
        before any of the next is written.

        Args:
            receipts: Of each task that has returned any, in one batch.
        """
        ...
