"""Builds the DataFrames of a topology's pipelines: read `FramePlan.results` first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame

from kstreams.batch.worker.stage_settings import QuerySettings, StageSettings
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.frames.bounded import run_bounded
from kstreams.spark.frames.cleaning import Cleaning
from kstreams.spark.frames.frame_task import StageRules
from kstreams.spark.frames.inherited import Inherited
from kstreams.spark.frames.layout import Layout
from kstreams.spark.frames.messages import MESSAGE
from kstreams.spark.frames.pack import Pack
from kstreams.spark.frames.shipped import Carried, Shipped
from kstreams.spark.frames.source_frame import SourceFrame
from kstreams.spark.frames.stage import Stage
from kstreams.spark.frames.unpack import RESULT, Unpack
from kstreams.topic import Topic
from kstreams.workers.pickling import dumped

__all__ = ("FramePlan", "Pipeline")


@dataclass(frozen=True)
class Pipeline:
    """Groups that repartition edges connect; each group is a stage.

    Attributes:
        query: The settings of the tasks.
        layout: The layout of the tasks.
    """

    query: QuerySettings
    layout: Layout


@dataclass(frozen=True)
class FramePlan:
    """Builds the DataFrame of a topology's results from the DataFrames of its sources.

    Attributes:
        pipelines: The pipelines of the topology.
        sources: The records of each topic, by name.
        run: Runs the tasks of a stage on messages; `run_bounded` for bounded DataFrames.
        shipped: The user's modules.
        errors: The channel of errors to the driver.
        cleaning: The policy for the removal of objects that no pointer of a task names.
        timers: Whether Spark calls tasks at the times that they request.
        fork: The initial state of tasks with a new checkpoint; None: empty.
    """

    pipelines: Sequence[Pipeline]
    sources: Mapping[str, SourceFrame]
    run: Callable[[DataFrame, Stage], DataFrame]
    shipped: Shipped
    errors: ErrorChannel
    cleaning: Cleaning
    timers: bool
    fork: Carried[Inherited] | None = None

    def results(self) -> DataFrame:
        """Return a new DataFrame with the output of all sinks.

        A query on the result of one call has its own state, separate from that of other calls.
        """
        start = None if self.run is run_bounded else uuid4().hex
        parts = [self._results_of(pipeline, start) for pipeline in self.pipelines]
        return reduce(_union, parts)

    def _results_of(self, pipeline: Pipeline, start: str | None) -> DataFrame:
        given: list[DataFrame] = []
        for settings in pipeline.query.stages():
            messages = [*given, *self._packed(settings, pipeline.layout)]
            rules = StageRules(
                settings.number, pipeline.layout, start, self.timers, self.cleaning, self.fork
            )
            stage = Stage(settings, rules, self.shipped, self.errors)
            given = [self.run(reduce(_union, messages), stage)]
        return given[0].mapInArrow(Unpack(self.errors), RESULT)

    def _packed(self, settings: StageSettings, layout: Layout) -> Iterator[DataFrame]:
        """Yield the messages of each source of a group."""
        for node in settings.group.sources:
            topic = node.topic
            carried: Carried[Topic[Any, Any]] = Carried.of(dumped(topic), self.shipped)
            pack = Pack(
                layout,
                settings.number,
                node.name,
                topic.name,
                carried,
                self.errors,
                all_tasks=self.timers or self.fork is not None,
                on_error=node.on_error,
            )
            yield self.sources[topic.name].rows(topic).mapInArrow(pack, MESSAGE)


def _union(frame: DataFrame, other: DataFrame) -> DataFrame:
    return frame.unionByName(other)
