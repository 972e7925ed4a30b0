"""A topology as a transformation of DataFrames: read `transform_frames` from top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame

from kstreams.batch.stage_settings import QuerySettings
from kstreams.checkpoint.app_settings import AppSettings
from kstreams.errors import CompileError
from kstreams.graph.framed_topics import prepare_topics
from kstreams.graph.nodes import StdoutSink
from kstreams.graph.partitions import group_partitions
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.processors.interceptor import Interceptor
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.frames.bounded import run_bounded
from kstreams.spark.frames.bounded_state import NoLog
from kstreams.spark.frames.frame_io import FrameIO
from kstreams.spark.frames.group_state import group_state
from kstreams.spark.frames.layout import Layout
from kstreams.spark.frames.messages import MESSAGE
from kstreams.spark.frames.operators import Operator, chosen_operator
from kstreams.spark.frames.pack import Pack
from kstreams.spark.frames.results import ResultFrames
from kstreams.spark.frames.sessions import check_width, shuffle_partitions
from kstreams.spark.frames.source_frame import SourceFrame
from kstreams.spark.frames.stage import Stage
from kstreams.spark.frames.transform_with_state import transform_with_state
from kstreams.spark.frames.unpack import RESULT, Unpack
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.upkeep import Upkeep
from kstreams.topic import Topic

__all__ = ("transform_frames",)

Frames = Mapping[str, SourceFrame]
"""By topic name, its records."""


def transform_frames(
    topology: Topology,
    frames: Mapping[Topic[Any, Any] | str, DataFrame | SourceFrame],
    *,
    state: StateBackend | None = None,
    tasks: int = 4,
    app_id: str | None = None,
    operator: Operator | Literal["auto"] = "auto",
    interceptors: Sequence[Interceptor] = (),
    upkeep: Upkeep | None = None,
) -> ResultFrames:
    """Make a topology's sinks of its sources: DataFrames in, DataFrames out.

    Nothing runs by it. Of streaming DataFrames come streaming ones: each partition group is one
    stateful operator of the query that is started on them, and its state belongs to that query's
    checkpoint. Of bounded ones come bounded ones: all records are one batch, and what is open is
    closed at its end. Nothing but the DataFrame API is used: sessions may be of Spark Connect.

    Effects on state are exactly once; rows come as often as the sink that writes them lets them.

    Args:
        topology: What to run.
        frames: The records of each source topic: a DataFrame with columns `key`, `value` and
            `timestamp`, or a `SourceFrame` that names others.
        state: Backend of the stores; with streaming DataFrames it needs a `log` that all
            executors reach. Without one, bounded DataFrames have theirs in memory.
        tasks: How many tasks each group has, unless a repartition says otherwise; stays as it
            is for a checkpoint's life.
        app_id: Names the state in the log; the topology's name by default.
        operator: Which stateful operator of Spark's runs the groups; see `Operator`. `"auto"`
            takes `transform-with-state` where the session's state store has it.
        interceptors: Wrapped around every record processor.
        upkeep: How often the durable log gets snapshots, and merges of deltas.

    Raises:
        CompileError: DataFrames, session or settings do not fit; says what to do.
        PartitionCountError: Repartitions of a group differ in their number of partitions.
    """
    prepare_topics(topology)
    _check_sinks(topology)
    sources = _source_frames(topology, frames)
    streaming = _are_streaming(sources)
    session = next(iter(sources.values())).frame.sparkSession
    counts = group_partitions(topology, {node.topic.name: tasks for node in topology.sources})
    width = shuffle_partitions(session) if streaming else max(counts.values())
    if streaming:
        check_width(width, tuple(counts.values()))
        _check_log(state)
    pipelines = topology.pipelines()
    run: Callable[[DataFrame, Stage], DataFrame] = run_bounded
    if streaming:
        stateful = sum(map(len, pipelines))
        run = _OPERATORS[chosen_operator(session, operator, stateful)]
    app = AppSettings(
        app_id or topology.name,
        Path(),
        state=state or Memory(),
        interceptors=tuple(interceptors),
        upkeep=upkeep or Upkeep(),
    ).for_workers()
    errors = ErrorChannel()
    parts: list[DataFrame] = []
    for groups in pipelines:
        own = tuple(counts[group.name] for group in groups)
        query = QuerySettings(app, "", "", app.state.log or NoLog(), groups, own, width, FrameIO())
        names = tuple(group.name for group in groups)
        layout = Layout(app.app_id, topology.fingerprint(), names, own, width)
        parts.append(_pipeline(query, layout, sources, run, errors))
    return ResultFrames(topology, reduce(DataFrame.unionByName, parts), errors)


_OPERATORS: dict[Operator, Callable[[DataFrame, Stage], DataFrame]] = {
    "transform-with-state": transform_with_state,
    "group-state": group_state,
}


def _pipeline(
    query: QuerySettings,
    layout: Layout,
    sources: Frames,
    run: Callable[[DataFrame, Stage], DataFrame],
    errors: ErrorChannel,
) -> DataFrame:
    """Return what the sinks of one pipeline give out."""
    frame: DataFrame | None = None
    for settings, group in zip(query.stages(), query.groups, strict=True):
        for rows in _packed(group, settings.number, layout, sources, errors):
            frame = rows if frame is None else frame.unionByName(rows)
        if frame is None:
            raise CompileError(f"group {group.name!r} reads nothing")
        frame = run(frame, Stage(settings, layout, errors))
    if frame is None:
        raise CompileError("a pipeline has no group")
    return frame.mapInArrow(Unpack(errors), RESULT)


def _packed(
    group: PartitionGroup, stage: int, layout: Layout, sources: Frames, errors: ErrorChannel
) -> list[DataFrame]:
    """Return the messages of each source of a group."""
    return [
        sources[node.topic.name]
        .rows(node.topic.name)
        .mapInArrow(
            Pack(layout, stage, node.name, node.topic.name, node.topic.partitioner, errors),
            MESSAGE,
        )
        for node in group.sources
    ]


def _source_frames(
    topology: Topology, frames: Mapping[Topic[Any, Any] | str, DataFrame | SourceFrame]
) -> dict[str, SourceFrame]:
    """Return the DataFrame of each source topic, in the topology's order."""
    given = {
        topic if isinstance(topic, str) else topic.name: frame
        if isinstance(frame, SourceFrame)
        else SourceFrame(frame)
        for topic, frame in frames.items()
    }
    wanted = dict.fromkeys(node.topic.name for node in topology.sources)
    missing = [topic for topic in wanted if topic not in given]
    if missing:
        raise CompileError(
            f"there is no DataFrame for {', '.join(map(repr, missing))}",
            hint="Each source topic needs one; a topic that the topology itself writes is read "
            "back from where its results go, or becomes a repartition.",
        )
    unknown = [topic for topic in given if topic not in wanted]
    if unknown:
        raise CompileError(
            f"the topology does not read {', '.join(map(repr, unknown))}; it reads "
            f"{', '.join(map(repr, wanted))}",
            hint="Leave the DataFrame out, or correct the name.",
        )
    return {topic: given[topic] for topic in wanted}


def _are_streaming(sources: Frames) -> bool:
    kinds = {topic: source.frame.isStreaming for topic, source in sources.items()}
    if len(set(kinds.values())) > 1:
        streams = [topic for topic, streaming in kinds.items() if streaming]
        raise CompileError(
            f"some DataFrames stream ({', '.join(map(repr, streams))}), and others do not",
            hint="Read all with spark.readStream, or all with spark.read.",
        )
    return next(iter(kinds.values()))


def _check_log(state: StateBackend | None) -> None:
    if state is None or state.log is None:
        raise CompileError(
            "there is no place for the state of a streaming query",
            hint="Give the backend a log that all executors reach: state=Memory(log=Directory("
            "'/mnt/shared/state')), or RocksDB(log=S3(...)).",
        )


def _check_sinks(topology: Topology) -> None:
    for group in topology.groups:
        if group.loops or group.global_stores:
            what = "loops" if group.loops else "global tables"
            raise CompileError(
                f"group {group.name!r} has {what}, which DataFrames do not carry",
                hint="Run the topology with App.",
            )
    for sink in topology.sinks:
        if isinstance(sink.target, StdoutSink):
            raise CompileError(
                f"sink {sink.name!r} prints on the driver, where no DataFrame runs",
                hint="Write to a topic, and show its DataFrame: writeStream.format('console').",
            )
