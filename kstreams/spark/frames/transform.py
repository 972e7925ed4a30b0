"""A topology as a transformation of DataFrames: read `transform_frames` from top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession

from kstreams.batch.worker.stage_settings import QuerySettings
from kstreams.checkpoint.savepoint.fork import ForkSource
from kstreams.checkpoint.start.app_settings import AppSettings, Packages
from kstreams.checkpoint.storage.named_home import app_home, is_url
from kstreams.errors import CompileError
from kstreams.graph.checks.partitions import partition_counts
from kstreams.graph.framed_topics import prepare_topics
from kstreams.graph.limits import limits_of
from kstreams.graph.nodes import StdoutSink
from kstreams.graph.topology import Topology
from kstreams.graph.window_emissions import check_run_closes_windows
from kstreams.options import checks_options
from kstreams.processors.interceptor import Interceptor, checked_interceptors
from kstreams.sink import Sink
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.frames.bounded import run_bounded
from kstreams.spark.frames.bounded_state import NoLog
from kstreams.spark.frames.cleaning import Cleaning
from kstreams.spark.frames.frame_io import FrameIO
from kstreams.spark.frames.frame_plan import FramePlan, Pipeline
from kstreams.spark.frames.group_state import group_state
from kstreams.spark.frames.inherited import Inherited
from kstreams.spark.frames.layout import Layout
from kstreams.spark.frames.operators import Operator, chosen_operator
from kstreams.spark.frames.results import ResultFrames
from kstreams.spark.frames.sessions import check_width, shuffle_partitions
from kstreams.spark.frames.shipped import Carried, Shipped
from kstreams.spark.frames.source_frame import SourceFrame
from kstreams.spark.frames.stage import Stage
from kstreams.spark.frames.store_check import check_library, check_store
from kstreams.spark.frames.transform_with_state import transform_with_state
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.upkeep import Upkeep
from kstreams.topic import Topic
from kstreams.workers.pickling import dumped

__all__ = ("transform_frames",)

_Run = Callable[[DataFrame, Stage], DataFrame]
"""Runs a stage's tasks on a DataFrame of messages."""


@checks_options
def transform_frames(
    topology: Topology,
    frames: Mapping[Topic[Any, Any] | str, DataFrame | SourceFrame],
    *,
    state: StateBackend | None = None,
    tasks: int = 4,
    app_id: str | None = None,
    operator: Operator | Literal["auto"] = "auto",
    timers: bool = False,
    fork: str | ForkSource | None = None,
    interceptors: Sequence[Interceptor] = (),
    packages: Packages = "auto",
    upkeep: Upkeep | None = None,
) -> ResultFrames:
    """Transform the DataFrames of a topology's sources to DataFrames of its sinks.

    The call runs nothing. Streaming DataFrames result in streaming ones: each partition group is
    one stateful operator of the query that the user starts on them, and its state belongs to the
    checkpoint of that query. Bounded DataFrames result in bounded ones: all records are one batch,
    and open windows are closed at its end. The function uses only the DataFrame API, so sessions
    may be of Spark Connect.

    Effects on state are exactly once; the sink that writes the rows determines their delivery
    guarantee.

    Args:
        topology: The topology to run on the DataFrames.
        frames: The records of each source topic: a DataFrame with columns `key`, `value` and
            `timestamp`, or a `SourceFrame` that names others.
        state: The backend of the stores; with streaming DataFrames it needs a `log` that all
            executors can access. Without it, bounded DataFrames keep state in memory.
        tasks: The number of tasks of each group, unless a repartition sets another number; it
            cannot change for a checkpoint.
        app_id: The name of the state in the log; the topology's name by default.
        operator: The stateful Spark operator that runs the groups; see `Operator`. `"auto"` uses
            `transform-with-state` if the state store of the session supports it.
        timers: Whether tasks have wall-clock work: wall-clock punctuators, or sources with an idle
            timeout. Spark then also runs batches without data, at each trigger.
        fork: A savepoint of an app that ran this topology, `"<checkpoint>@<savepoint>"` or a
            `ForkSource`: the tasks of a new checkpoint start with a copy of its state. Keep the
            argument, and the savepoint, until every task has run. The DataFrames must start at the
            offsets of the savepoint: see `starting_offsets`.
        interceptors: The interceptors of every record processor.
        packages: The user's modules that executors need; `"auto"` finds them.
        upkeep: The intervals of snapshots and merged deltas in the durable log.

    Raises:
        CompileError: DataFrames, session or settings are invalid. The hint has the next step.
        SavepointError: The text of `fork` is not the name of a savepoint.
        PartitionCountError: Repartitions of a group differ in their number of partitions.
    """
    prepare_topics(topology)
    _check_sinks(topology)
    sources = _source_frames(topology, frames)
    streaming = _are_streaming(sources)
    session = _session_of(sources)
    partitions = partition_counts(topology, {node.topic.name: tasks for node in topology.sources})
    counts = partitions.tasks
    source = None if fork is None else _fork_source(fork, streaming=streaming)
    shipped = Shipped.of(packages, session)
    run: _Run = run_bounded
    if streaming:
        check_run_closes_windows(topology, "emit each_update(), or read bounded DataFrames.")
        width = shuffle_partitions(session)
        check_width(width, tuple(counts.values()))
        carried: Carried[ObjectStoreSettings] = Carried.of(dumped(_log_of(state)), shipped)
        run = _OPERATORS[chosen_operator(session, operator, len(topology.groups))]
        check_library(session, width)
        check_store(session, carried, width)
    app = AppSettings(
        app_id or topology.name,
        app_home(app_id or topology.name),  # named by no task: Spark has the checkpoint
        state=state or Memory(),
        interceptors=checked_interceptors(interceptors),
        upkeep=upkeep or Upkeep(),
    ).for_workers()
    log, shape = app.state.log or NoLog(), topology.fingerprint()
    pipelines: list[Pipeline] = []
    for groups in topology.pipelines():
        own = tuple(counts[group.name] for group in groups)
        query = QuerySettings(
            app, "", "", log, groups, own, max(own), FrameIO(), uneven=partitions.uneven
        )
        names = tuple(group.name for group in groups)
        origin = "" if source is None else str(source)
        parameters = {name: each for group in groups for name, each in group.parameters().items()}
        layout = Layout(app.app_id, shape, names, own, origin, parameters)
        pipelines.append(Pipeline(query, layout))
    errors = ErrorChannel()
    plan = FramePlan(
        pipelines,
        sources,
        run,
        shipped,
        errors,
        _cleaning(session, timers=timers),
        timers,
        None if source is None else _inherited(source, topology, counts, shipped),
    )
    return ResultFrames(topology, app.app_id, plan.results, shipped, errors)


_OPERATORS: dict[Operator, _Run] = {
    "transform-with-state": transform_with_state,
    "group-state": group_state,
}


def _cleaning(session: SparkSession, *, timers: bool) -> Cleaning:
    """Return the policy for the removal of a task's old objects.

    Spark may roll back to each batch that it retains (`minBatchesToRetain`), so the versions of
    these batches stay. With timers, a task may run two batches in one batch of Spark.
    """
    retained = session.conf.get("spark.sql.streaming.minBatchesToRetain", "100")
    return Cleaning(retained_batches=int(retained or 100) * (2 if timers else 1))


def _fork_source(fork: str | ForkSource, *, streaming: bool) -> ForkSource:
    """Return the savepoint of the argument `fork`; the path of a directory becomes absolute."""
    source = ForkSource.parse(fork) if isinstance(fork, str) else fork
    if not streaming:
        raise CompileError(
            "bounded DataFrames begin with no state, but fork= is set",
            hint="Read all DataFrames with spark.readStream, or remove fork=.",
        )
    if source.start is not None:
        raise CompileError(
            "fork= has a start, but the DataFrames determine where their sources begin",
            hint="Remove start= from the fork, and set the start in the options of the DataFrames.",
        )
    place = source.checkpoint
    if isinstance(place, Path) or (isinstance(place, str) and not is_url(place)):
        return replace(source, checkpoint=Path(place).absolute())
    return source


def _inherited(
    source: ForkSource, topology: Topology, tasks: Mapping[str, int], shipped: Shipped
) -> Carried[Inherited]:
    return Carried.of(dumped(Inherited(source, topology.shape(), dict(tasks))), shipped)


def _source_frames(
    topology: Topology, frames: Mapping[Topic[Any, Any] | str, DataFrame | SourceFrame]
) -> dict[str, SourceFrame]:
    """Return the `SourceFrame` of each source topic by name, in the topology's order."""
    given = {
        topic if isinstance(topic, str) else topic.name: frame
        if isinstance(frame, SourceFrame)
        else SourceFrame(frame)
        for topic, frame in frames.items()
    }
    for topic, source in given.items():
        if not hasattr(source.frame, "isStreaming"):
            raise CompileError(
                f"the source of {topic!r} must be a Spark DataFrame, not "
                f"{type(source.frame).__name__}",
                hint="Pass the result of spark.readStream, spark.read or spark.createDataFrame.",
            )
    wanted = dict.fromkeys(node.topic.name for node in topology.sources)
    missing = [topic for topic in wanted if topic not in given]
    if missing:
        raise CompileError(
            f"there is no DataFrame for {', '.join(map(repr, missing))}",
            hint="Pass a DataFrame for each source topic. If the topology itself writes the topic, "
            "read the DataFrame from the destination of its results, or use a repartition.",
        )
    unknown = [topic for topic in given if topic not in wanted]
    if unknown:
        raise CompileError(
            f"the topology does not read {', '.join(map(repr, unknown))}; it reads "
            f"{', '.join(map(repr, wanted))}",
            hint="Remove the DataFrame, or correct the name of its topic.",
        )
    return {topic: given[topic] for topic in wanted}


def _are_streaming(sources: Mapping[str, SourceFrame]) -> bool:
    kinds = {topic: source.frame.isStreaming for topic, source in sources.items()}
    if len(set(kinds.values())) > 1:
        streams = [topic for topic, streaming in kinds.items() if streaming]
        bounded = [topic for topic, streaming in kinds.items() if not streaming]
        raise CompileError(
            f"some DataFrames are streaming ({', '.join(map(repr, streams))}), and others are "
            f"bounded ({', '.join(map(repr, bounded))})",
            hint="Read all DataFrames with spark.readStream, or all with spark.read.",
        )
    return next(iter(kinds.values()))


def _session_of(sources: Mapping[str, SourceFrame]) -> SparkSession:
    """Return the session of all DataFrames; raises `CompileError` if their sessions differ."""
    first, *others = sources
    session = sources[first].frame.sparkSession
    for topic in others:
        if sources[topic].frame.sparkSession is not session:
            raise CompileError(
                f"the DataFrames of {first!r} and {topic!r} are of different sessions of Spark",
                hint="Read all DataFrames with one SparkSession.",
            )
    return session


def _log_of(state: StateBackend | None) -> ObjectStoreSettings:
    log = None if state is None else state.log
    if log is None:
        raise CompileError(
            "the state of a streaming query needs a durable log",
            hint="Give the backend a log that all executors reach: state=Memory(log=Directory("
            "'/mnt/shared/state')), or RocksDB(log=S3(...)).",
        )
    return log


def _check_sinks(topology: Topology) -> None:
    for group in topology.groups:
        found = {
            "loops": group.loops,
            "global tables": group.global_stores,
            "limits": limits_of([group]),
        }
        if unfit := [name for name, nodes in found.items() if nodes]:
            raise CompileError(
                f"group {group.name!r} has {' and '.join(unfit)}, which DataFrames do not support",
                hint="Run the topology with App.",
            )
    for sink in topology.sinks:
        if isinstance(sink.target, StdoutSink):
            raise CompileError(
                f"sink {sink.name!r} prints on the driver, but DataFrames run on executors",
                hint="Write to a topic, and show its DataFrame: writeStream.format('console').",
            )
        if isinstance(sink.target, Sink):
            raise CompileError(
                f"sink {sink.name!r} writes with the commits of an app, which DataFrames do not "
                "have",
                hint="Write to a topic, and its DataFrame with a Spark sink; or run with App.",
            )
