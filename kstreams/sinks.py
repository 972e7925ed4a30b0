"""Sinks other than topics, such as databases, and the interface for a new one.

- `Sink` is the interface, for `TopologyBuilder.add_sink`; `to_batches` creates a sink from a
  function. Other packages have more, such as `kstreams_postgres` (docs/connectors.md lists all).
- In each worker a sink opens a `Writer`, which gets the `Results` of a task in a batch with a
  `CommitId`, before the batch is committed. An exactly-once sink stages the results, and
  `Sink.publish` publishes them after the commit.
- Each sink declares its `Guarantee`. A writer reports a `RefusedRow` for each rejected result, and
  the sink's `on_refused` is the policy for it.

`kstreams.testing` has a `SinkContract` to test a sink, and a `RecordingSink`.

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
