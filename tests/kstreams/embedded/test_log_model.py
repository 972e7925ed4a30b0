"""Any order of appends, replays, lost attempts and reopenings equals a model of lists."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from kstreams.embedded.log import EmbeddedLog
from kstreams.embedded.segment import Segment
from tests.kstreams.embedded.sample_tables import rows, values

PARTITIONS = 2
partitions = st.integers(0, PARTITIONS - 1)
producers = st.sampled_from(["p", "q"])
batches = st.integers(0, 6)
numbers = st.lists(st.integers(0, 999), min_size=1, max_size=4)

Batch = tuple[int, str, int]


class LogMachine(RuleBasedStateMachine):
    """Two logs on one directory, each with its own cache of listed segments."""

    staged = Bundle("staged")

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.logs = [EmbeddedLog(self.root, durable=False) for _ in range(2)]
        self.logs[0].create("t", PARTITIONS)
        self.model: dict[int, list[int]] = {n: [] for n in range(PARTITIONS)}
        self.published: dict[Batch, Segment] = {}

    def expect(self, batch: Batch, content: list[int], segment: Segment) -> None:
        if batch not in self.published:
            kept = self.model[batch[0]]
            assert (segment.first_offset, segment.count) == (len(kept), len(content))
            kept.extend(content)
            self.published[batch] = segment
        assert segment == self.published[batch]

    @rule(log=st.integers(0, 1), p=partitions, producer=producers, batch=batches, content=numbers)
    def append(self, log: int, p: int, producer: str, batch: int, content: list[int]) -> None:
        made = self.logs[log].append("t", p, rows(*content), producer=producer, batch=batch)
        self.expect((p, producer, batch), content, made)

    @rule(target=staged, p=partitions, content=numbers, owner=producers)
    def stage(self, p: int, content: list[int], owner: str) -> tuple[int, str, list[int]]:
        return p, self.logs[0].stage("t", p, rows(*content), owner=owner), content

    @rule(log=st.integers(0, 1), file=staged, producer=producers, batch=batches)
    def publish(
        self, log: int, file: tuple[int, str, list[int]], producer: str, batch: int
    ) -> None:
        p, name, content = file
        gone = not (self.root / "t" / ".staged" / str(p) / name).exists()
        if gone and (p, producer, batch) not in self.published:
            return
        made = self.logs[log].publish("t", p, name, producer=producer, batch=batch)
        self.expect((p, producer, batch), content, made)

    @rule(log=st.integers(0, 1))
    def reopen(self, log: int) -> None:
        self.logs[log] = EmbeddedLog(self.root, durable=False)

    @rule(owner=producers)
    def sweep(self, owner: str) -> None:
        self.logs[0].sweep_staged([owner], older_than_ms=0)

    @rule(log=st.integers(0, 1), p=partitions)
    def read(self, log: int, p: int) -> None:
        assert values(self.logs[log], "t", p) == self.model[p]

    @invariant()
    def ends_agree(self) -> None:
        for p, kept in self.model.items():
            assert self.logs[1].end_offset("t", p) == len(kept)

    def teardown(self) -> None:
        shutil.rmtree(self.root)


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
