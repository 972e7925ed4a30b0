"""The app for crash tests of loops: walks over keys, each step a hop to another task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from uuid import uuid4

from kstreams import (
    INT64,
    TEXT,
    Processor,
    ProcessorContext,
    Record,
    Topology,
    TopologyBuilder,
    key_value_store,
)
from kstreams.operators import rekey
from kstreams.state.backend.objects import ObjectStoreSettings
from tests.support.crash.harness import Harness
from tests.support.crash.leftover_checks import check_litter
from tests.support.crash.marking_app import IN, KEYS, OUT

__all__ = ("STEPS", "VISITS", "LoopHarness", "visits", "walking")

VISITS = key_value_store("visits", key=TEXT, value=INT64)
STEPS = 3
"""Number of times each record passes the loop."""


class Walk(Processor[str, str, str, str]):
    """Counts a visit of its key, and forwards to the next key while steps are left."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        self.context, self.visits = context, context.store(VISITS)

    def process(self, record: Record[str, str]) -> None:
        count = (self.visits.get(record.key) or 0) + 1
        self.visits.put(record.key, count)
        self.context.forward_to("marks", record.with_value(f"{count}:{uuid4().hex[:8]}"))
        left = int(record.value) - 1 if record.value.isdigit() else STEPS - 1
        if left >= 0:
            self.context.forward_to("next", record.with_value(str(left)))


def next_key(key: str, _: str) -> str:
    return KEYS[(KEYS.index(key) + 1) % len(KEYS)]


def walking(loop: str = "again") -> Topology:
    """Build words -> walk -> marks, and a loop to the next key."""
    builder = TopologyBuilder("marking")
    again = builder.add_loop(loop, key=TEXT, value=TEXT)
    walk = builder.add_processor(
        "walk", Walk, builder.add_source("words", IN), again, stores=[VISITS]
    )
    builder.add_sink("marks", OUT, walk)
    builder.close_loop(again, builder.add_processor("next", rekey(next_key), walk))
    return builder.build()


def visits(records: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return the number of visits of each key in the walks of some records."""
    found: Counter[str] = Counter()
    for key, _ in records:
        start = KEYS.index(key)
        found.update(KEYS[(start + step) % len(KEYS)] for step in range(STEPS + 1))
    return dict(found)


class LoopHarness(Harness):
    """An app with a loop."""

    def build(self) -> Topology:
        """Return the topology under test."""
        return walking()

    def check(self) -> None:
        """Compare results and state with those of a run without faults; check leftover files."""
        expected = visits(self.input)
        numbers: dict[str, list[int]] = {}
        for record in self._published():
            mark = (record.value or b"").decode().partition(":")[0]
            numbers.setdefault((record.key or b"").decode(), []).append(int(mark))
        assert numbers == {key: list(range(1, n + 1)) for key, n in expected.items()}
        assert self.visits() == expected
        check_litter(self)

    def visits(
        self, path: Path | None = None, log: ObjectStoreSettings | None = None
    ) -> dict[str, int]:
        """Return the contents of the store of a checkpoint."""
        found: dict[str, int] = {}
        for overlay in self.stores(VISITS, path=path, log=log):
            found.update(VISITS.open(overlay).range())
        return found

    def step(self) -> None:
        """Run one batch."""
        self.query.run_batch()
