"""Run cases on Spark: many in one app, each in a partition, and so a task, of its own.

Every task has the nodes of all cases of its lane, and only those of its own case forward to the
sinks. A lane is a query: see `WindowLane` and `JoinLane`.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from kstreams import App, Embedded
from kstreams import TopologyBuilder as Builder
from kstreams.state.backend.working import StateBackend
from tests.support.conformance.case import Output
from tests.support.conformance.driver_engine import Answer
from tests.support.conformance.join_lane import JoinLane
from tests.support.conformance.lane import Lane, Run
from tests.support.conformance.window_lane import WindowLane

__all__ = ("AT_ONCE", "Run", "run_on_spark")

AT_ONCE = 32
"""Most cases of one app: each of its tasks has the nodes of all cases."""

_TIMEOUT = timedelta(minutes=5)


def run_on_spark(
    runs: Sequence[Run], session: SparkSession, *, cut: str, state: StateBackend | None = None
) -> list[Answer]:
    """Return the answers of at most `AT_ONCE` cases, in the order of the runs."""
    with tempfile.TemporaryDirectory(prefix="kstreams-conformance-") as home:
        return _AppRun(runs, session, Path(home), cut, state).answers()


class _AppRun:
    """An app, and the results of its cases so far."""

    def __init__(
        self,
        runs: Sequence[Run],
        session: SparkSession,
        home: Path,
        cut: str,
        state: StateBackend | None,
    ) -> None:
        self._cut = cut
        by_lane: dict[tuple[type[Lane], str], list[Run]] = defaultdict(list)
        self._order = []
        for run in runs:
            kind = JoinLane if run.case.is_join else WindowLane
            own = by_lane[kind, kind.name_of(run)]
            self._order.append((kind.name_of(run), len(own)))
            own.append(run)
        self._lanes = {name: kind(name, own) for (kind, name), own in by_lane.items()}
        self._batches: dict[tuple[str, int], list[list[Output]]] = defaultdict(list)
        self._late: dict[tuple[str, int], int] = defaultdict(int)
        self._connection = Embedded(home / "topics", durable=False)
        self._read: dict[str, int] = defaultdict(int)
        self._app = App(
            self._topology(),
            self._connection,
            state=state,
            app_id=f"conformance-{home.name}",
            checkpoint=home / "checkpoint",
            trigger=timedelta(0),
            parallelism=2,
            spark=session,
        )

    def answers(self) -> list[Answer]:
        """Run the first batches of all cases, then the second ones, and so on."""
        admin, log = self._connection.admin(), self._connection.log()
        for lane in self._lanes.values():
            for side in lane.sides:
                admin.create(lane.input(side), len(lane.runs))
            admin.create(lane.output, 1)
        cases = [self._lanes[name].runs[number].case for name, number in self._order]
        batches = [case.batches(self._cut) for case in cases]
        with self._app as app:
            app.open()
            for number, ranges in enumerate(zip_longest(*batches, fillvalue=range(0))):
                for (name, own), batch in zip(self._order, ranges, strict=True):
                    for topic, table in self._lanes[name].tables(own, batch).items():
                        log.append(topic, own, table, producer="test", batch=number)
                app.drain(timeout=_TIMEOUT)
                self._take(number)
        counts = map(len, batches)
        return [self._answer(*place) for place in zip(self._order, counts, strict=True)]

    def _topology(self) -> Any:
        builder = Builder("conformance")
        for lane in self._lanes.values():
            lane.add_to(builder)
        return builder.build()

    def _take(self, number: int) -> None:
        """Read the results of a batch."""
        reader = self._connection.reader()
        for name, lane in self._lanes.items():
            end = self._connection.admin().end_offsets(lane.output)[0]
            for row in reader.read(lane.output, 0, self._read[lane.output], end):
                case, *fields = json.loads(row.value or b"")
                found = lane.result(case, fields, row.timestamp)
                if found is None:
                    self._late[name, case] += 1
                    continue
                batches = self._batches[name, case]
                batches += [[] for _ in range(number + 1 - len(batches))]
                batches[number].append(found)
            self._read[lane.output] = end

    def _answer(self, place: tuple[str, int], count: int) -> Answer:
        found = self._batches[place]
        found += [[] for _ in range(count - len(found))]
        lane = self._lanes[place[0]]
        nulls = sum(map(lane.dropped_before, lane.runs[place[1]].case.inputs))
        return Answer(tuple(map(tuple, found)), self._late[place] + nulls)
