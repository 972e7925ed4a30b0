"""Sample batch reports."""

from __future__ import annotations

from kstreams.batch.messages.latency import LATENCY_BOUNDS_MS, Latency
from kstreams.batch.report import BatchReport, TaskReport
from kstreams.batch.task_moves import TaskMove
from kstreams.ids import TaskId, TopicPartition
from kstreams.state.log.topic_counts import TopicCounts
from kstreams.state.log.totals import NodeCounts
from kstreams.state.log.traffic import Traffic
from kstreams.task.progress.drop_sample import DropSample

__all__ = ("report",)


def report(batch: int = 7, *, ms: int = 120_500, query: str = "lines") -> BatchReport:
    """Return a report with a value in each field."""
    place = TopicPartition("lines", 3)
    return BatchReport(
        query,
        batch,
        records=12,
        source_records=5,
        dropped={"late": 2},
        published=1,
        seconds=0.25,
        backlog=9,
        log=Traffic(1, 20, 2, 30, 1, 0),
        looped=3,
        nodes={"count": NodeCounts(7, 5, 0, {"late": 2}), "lines": NodeCounts(5, 5)},
        committed_ms=ms,
        phases={"wait": 0.5, "plan": 0.01, "job": 0.2, "commit": 0.03, "publish": 0.01},
        tasks=(
            TaskReport(
                TaskId("by/word", 3),
                7,
                {"read": 0.01, "restore": 0.05, "process": 0.1},
                20,
                "host/17",
                2,
                restored=True,
                node_seconds={"count": 0.06, "": 0.04},
                rows={"counts": 1_200},
            ),
            TaskReport(TaskId("lines", 0), 5, {"process": 0.02}),
        ),
        lag={place: 9},
        latency=Latency((1, 4, *[0] * (len(LATENCY_BOUNDS_MS) - 1)), 30),
        samples=(DropSample("count", "late", place, 17),),
        jobs=2,
        topics={"lines": TopicCounts(5, 90), "out": TopicCounts(0, 0, 4, 70)},
        moves=(
            TaskMove(TaskId("by/word", 3), "host/16", "host/17", restored=True),
            TaskMove(TaskId("lines", 0), None, "host/17"),
        ),
    )
