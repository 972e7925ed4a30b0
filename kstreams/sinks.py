"""Sinks that are no topics: databases and other places, and what it takes to write one.

- `Sink` is such a place, given to `TopologyBuilder.add_sink`; `to_batches` makes one of a function.
  Installed with extras of their own: `kstreams_postgres` (docs/connectors.md lists all).
- In each worker a sink opens a `Writer`, which gets `Results`, all that a task gives it in a batch,
  under a `CommitId`, before the batch is committed. What is to be seen only after the commit is
  staged, and shown by `Sink.publish`.
- Each declares its `Guarantee`. A writer refuses a `RefusedRow` that the place does not take, and
  the sink's `on_refused` says what becomes of it.

`kstreams.testing` has a `SinkContract` to prove a sink by, and a `RecordingSink`.

Example:
    >>> from kstreams import TEXT, Record, Topic, TopologyBuilder
    >>> from kstreams.sinks import CommitId, Results, to_batches
    >>> from kstreams.testing import TopologyTestDriver
    >>> def send(results: Results[str, str], commit: CommitId) -> None:
    ...     print(f"{commit.sink} of task {commit.task}:", [r.value for r in results.records()])
    >>> words = Topic("words", key=TEXT, value=TEXT)
    >>> builder = TopologyBuilder("words")
    >>> builder.add_sink("mail", to_batches(send), builder.add_source("words", words))
    >>> with TopologyTestDriver(builder.build(), real_sinks=True) as driver:
    ...     driver.pipe_batch(words, [Record("a", "one"), Record("b", "two")])
    mail of task 0: ['one', 'two']
"""

from __future__ import annotations

from kstreams.graph.sinks import to_batches
from kstreams.sink import CommitId, Guarantee, RefusedRow, Results, Sink, Writer

__all__ = (
    "CommitId",
    "Guarantee",
    "RefusedRow",
    "Results",
    "Sink",
    "Writer",
    "to_batches",
)
