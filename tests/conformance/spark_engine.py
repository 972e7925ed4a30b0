"""Run cases on Spark: many in one app, each in a partition, that is a task, of its own.

Every task has the nodes of all cases of its lane, and only those of its own case go on to
the sinks. A lane is a query: cases of one execution whose source leaves out null values, or passes
them, and by columns whose results are suppressed, or not.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from kstreams import NONE, TEXT, App, Embedded, Processor, ProcessorContext, Record, Topic
from kstreams import TopologyBuilder as Builder
from kstreams.processors.columns import Execution
from kstreams.state.backend.working import StateBackend
from kstreams.windows import Windowed, split_late
from tests.conformance.case import Case, Output
from tests.conformance.engine import Answer
from tests.conformance.numbered_values import NumberedValues
from tests.conformance.topologies import aggregation, drops_nulls, source_topic, suppressed

AT_ONCE = 32
"""How many cases one app takes: each of its tasks has the nodes of all."""

_TIMEOUT = timedelta(minutes=5)


@dataclass(frozen=True)
class Run:
    """A case on one execution."""

    case: Case
    execution: Execution = "records"

    @property
    def lane(self) -> str:
        nulls = "dropping" if drops_nulls(self.case) else "passing"
        # A punctuator, which suppression has, keeps final results of its task off columns.
        apart = self.execution == "columns" and self.case.emit == "suppress"
        return f"{self.execution}-{nulls}{'-suppressed' * apart}"


def run_on_spark(
    runs: Sequence[Run], session: SparkSession, *, cut: str, state: StateBackend | None = None
) -> list[Answer]:
    """Return the answers of no more than `AT_ONCE` cases, in the order of the runs."""
    with tempfile.TemporaryDirectory(prefix="kstreams-conformance-") as home:
        return _AppRun(runs, session, Path(home), cut, state).answers()


class _AppRun:
    """One app, and what its cases have given so far."""

    def __init__(
        self,
        runs: Sequence[Run],
        session: SparkSession,
        home: Path,
        cut: str,
        state: StateBackend | None,
    ) -> None:
        self._cut = cut
        self._lanes: dict[str, list[Run]] = defaultdict(list)
        self._order = [(run.lane, self._joins(run)) for run in runs]
        self._letters = {
            place: NumberedValues(run.case, run.execution, drops_nulls=drops_nulls(run.case))
            for place, run in zip(self._order, runs, strict=True)
        }
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
        """Run batch after batch: the first ones of all cases, then the second ones."""
        admin, log = self._connection.admin(), self._connection.log()
        for lane, runs in self._lanes.items():
            admin.create(f"in-{lane}", len(runs))
            admin.create(f"out-{lane}", 1)
        places = [
            (place, self._lanes[place[0]][place[1]].case.batches(self._cut))
            for place in self._order
        ]
        with self._app as app:
            app.open()
            each = zip_longest(*[batches for _, batches in places], fillvalue=range(0))
            for number, ranges in enumerate(each):
                for (place, _), batch in zip(places, ranges, strict=True):
                    if len(batch):
                        table = self._table(place, batch)
                        name = f"in-{place[0]}"
                        log.append(name, place[1], table, producer="test", batch=number)
                app.drain(timeout=_TIMEOUT)
                self._take(number)
        return [self._answer(place, len(batches)) for place, batches in places]

    def _joins(self, run: Run) -> int:
        lane = self._lanes[run.lane]
        lane.append(run)
        return len(lane) - 1

    def _topology(self) -> Any:
        builder = Builder("conformance")
        for lane, runs in self._lanes.items():
            first = runs[0]
            topic = source_topic(f"in-{lane}", drops_nulls(first.case), first.execution)
            records: Any = builder.add_source(f"in-{lane}", topic)
            for number, run in enumerate(runs):
                name = f"{lane}-{number}"
                supplier = aggregation(run.case, run.execution, f"state-{name}")
                results, late = split_late(builder, name, supplier, records)
                results = suppressed(builder, run.case, run.execution, results, f"-{name}")
                for kind, node in (("own", results), ("late", late)):
                    end: Any = builder.add_processor(f"{kind}-{name}", partial(_Own, number), node)
                    builder.add_sink(f"{kind}-out-{name}", Topic(f"out-{lane}", NONE, TEXT), end)
        return builder.build()

    def _table(self, place: tuple[str, int], batch: range) -> pa.Table:
        case, letters = self._lanes[place[0]][place[1]].case, self._letters[place]
        rows = [case.inputs[at] for at in batch]
        keys = [None if row.key is None else row.key.encode() for row in rows]
        return pa.table(
            {
                "timestamp": pa.array([row.timestamp for row in rows], pa.int64()),
                "key": pa.array(keys, pa.binary()),
                "value": pa.array([letters.encoded(at) for at in batch], pa.binary()),
            }
        )

    def _take(self, number: int) -> None:
        """Read what a batch has given."""
        reader = self._connection.reader()
        for lane in self._lanes:
            topic = f"out-{lane}"
            end = self._connection.admin().end_offsets(topic)[0]
            for row in reader.read(topic, 0, self._read[topic], end):
                case, *window, value = json.loads(row.value or b"")
                place = (lane, case)
                if not window:
                    self._late[place] += 1
                    continue
                text = self._letters[place].text(window[0], value)
                batches = self._batches[place]
                batches += [[] for _ in range(number + 1 - len(batches))]
                batches[number].append((str(Windowed(*window)), text, row.timestamp))
            self._read[topic] = end

    def _answer(self, place: tuple[str, int], count: int) -> Answer:
        found = self._batches[place]
        found += [[] for _ in range(count - len(found))]
        case = self._lanes[place[0]][place[1]].case
        nulls = sum(
            row.key is None or (row.value is None and drops_nulls(case)) for row in case.inputs
        )
        return Answer(tuple(map(tuple, found)), self._late[place] + nulls)


class _Own(Processor[Any, Any, None, str]):
    """Lets results through in the task of their case alone, as text; late records as little."""

    def __init__(self, number: int) -> None:
        self._number = number

    def init(self, context: ProcessorContext[None, str]) -> None:
        self.context = context
        self._is_own = context.task.partition == self._number

    def process(self, record: Record[Any, Any]) -> None:
        key, value = record.key, record.value
        if self._is_own:
            late = not isinstance(key, Windowed)
            found = [None] if late else [key.key, key.start_ms, key.end_ms, value]
            text = json.dumps([self._number, *found])
            self.context.forward(Record(None, text, record.timestamp))
