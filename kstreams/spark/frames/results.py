"""The result of `transform_frames`: the DataFrames of a topology's sinks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

from kstreams.errors import CompileError, KStreamsError
from kstreams.graph.topology import Topology
from kstreams.processors.on_error import DeadLetter
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.frames.dropped import (
    OF_DROPPED,
    dropped_counts,
    dropped_topic,
    observed,
)
from kstreams.spark.frames.shipped import Shipped
from kstreams.topic import Topic, TopicChoice

__all__ = ("ResultFrames", "rows_of_topic")


class ResultFrames:
    """The results of a topology as DataFrames; `results[TOPIC]` has the results of one topic.

    All of these DataFrames select rows from the same computation. One query on `all`, or one query
    with `write_each`, runs the computation once. Two queries on two of the DataFrames run it twice,
    with separate checkpoints and states. So getting a second streaming DataFrame from this object
    issues a `UserWarning`.

    Attributes:
        dropped_topic: The topic of the rows with drop counts; their key is the task, their value
            has the columns of `dropped` in JSON.
        shipped: The user's modules for executors.

    Raises:
        CompileError: The topology writes to `dropped_topic`.
    """

    def __init__(
        self,
        topology: Topology,
        app_id: str,
        compute: Callable[[], DataFrame],
        shipped: Shipped,
        errors: ErrorChannel,
    ) -> None:
        self._compute = compute
        self._all = compute()
        self._taken: str | None = None
        self.dropped_topic = dropped_topic(app_id)
        self.shipped = shipped
        self._topics = _topics(topology, self.dropped_topic)
        self._errors = errors

    @property
    def all(self) -> DataFrame:
        """The results of all sinks, and dead letters.

        Columns: `sink` (name of the node), `topic`, `key` and `value` (`binary`), `timestamp` and
        `headers`. The query has a metric with the number of records that were dropped in a batch:
        `query.lastProgress["observedMetrics"][results.dropped_topic]["records"]`.
        """
        return observed(self._part("all"), self.dropped_topic)

    @property
    def with_dropped(self) -> DataFrame:
        """The rows of `all`, and rows with counts of dropped records (topic `dropped_topic`)."""
        return self._part("with_dropped")

    @property
    def dropped(self) -> DataFrame:
        """The numbers of dropped records: a row for each batch, task, node and reason.

        Columns `task` (`group/number`), `node` (of the topology), `reason` (such as `late` or
        `skipped-ValueError`), `count`, `batch` (numbered by the task) and `timestamp` (of the
        batch). Dead letters are counted with a reason that begins with `dead-letter-`; all other
        rows are dropped records.
        """
        return dropped_counts(self._part("dropped").where(OF_DROPPED))

    def __getitem__(self, topic: Topic[Any, Any] | str) -> DataFrame:
        """Return one topic's results: columns `key`, `value`, `timestamp` and `headers`.

        The query has the same metric as one on `all`.

        Raises:
            CompileError: The topology does not write to the topic.
        """
        name = self.name_of(topic)
        rows = self._part(f"[{name!r}]")
        if name != self.dropped_topic:
            rows = observed(rows, self.dropped_topic)
        return rows_of_topic(rows, name)

    def name_of(self, topic: Topic[Any, Any] | str) -> str:
        """Return the name of a topic that the topology writes to.

        Raises:
            CompileError: The topology does not write to the topic.
        """
        name = topic if isinstance(topic, str) else topic.name
        if self._topics is not None and name not in self._topics:
            raise CompileError(
                f"the topology does not write to topic {name!r}",
                hint=f"It writes to {', '.join(map(repr, sorted(self._topics))) or 'no topic'}.",
            )
        return name

    def error_in(self, exc: BaseException) -> KStreamsError | None:
        """Return the error of a task from a Spark exception; None if no task raised.

        Args:
            exc: The exception of an action or a query, such as a `StreamingQueryException`.
        """
        return self._errors.find(exc)

    def _part(self, name: str) -> DataFrame:
        """Return the DataFrame of all rows, from which the caller selects a part.

        If it is streaming, each call returns a new one, whose query needs its own checkpoint. A
        call with another name than the first call issues a `UserWarning`.

        Args:
            name: The name of the part.
        """
        first, again = self._taken or name, self._taken is not None
        self._taken = first
        if again and self._all.isStreaming:
            self._all = self._compute()
        if name != first and self._all.isStreaming:
            warnings.warn(
                f"{name} is a second part of these results, after {first}: each part that is "
                f"started is a separate query, which runs the whole topology with its own state; "
                f"write_each(...), or one query on .all, runs the topology once",
                UserWarning,
                stacklevel=3,
            )
        return self._all


def rows_of_topic(frame: DataFrame, topic: str) -> DataFrame:
    """Return one topic's rows of a DataFrame with the columns of `ResultFrames.all`."""
    return frame.where(frame["topic"] == topic).select("key", "value", "timestamp", "headers")


def _topics(topology: Topology, of_dropped: str) -> frozenset[str] | None:
    """Return the topics of the results; None if records choose their topics.

    Raises:
        CompileError: The topology writes to `of_dropped`, the topic of drop counts.
    """
    targets = [sink.target for sink in topology.sinks]
    policies = [
        *(entry.on_error for group in topology.groups for entry in group.inputs),
        *(sink.on_refused for sink in topology.sinks),
    ]
    changelogs = [spec.changelog for spec in topology.stores]
    own = {
        *(target.name for target in targets if isinstance(target, Topic)),
        *(policy.topic for policy in policies if isinstance(policy, DeadLetter)),
        *(name for name in changelogs if name is not None),
    }
    if of_dropped in own:
        raise CompileError(
            f"the topology writes to topic {of_dropped!r}, which is reserved for the counts of "
            "dropped records",
            hint="Rename the topic, or pass another app_id=.",
        )
    if any(isinstance(target, TopicChoice) for target in targets):
        return None
    return frozenset({*own, of_dropped})
