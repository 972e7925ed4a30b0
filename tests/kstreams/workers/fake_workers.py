"""Workers whose answers a test gives, and a pool with such workers."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kstreams.batch.messages.envelope import DRIVER, Content, Envelope
from kstreams.batch.messages.oversized_batch import Refusal
from kstreams.errors import ExecutionError
from kstreams.workers.channel import connect
from kstreams.workers.launcher import DriverEndpoint
from kstreams.workers.messages import (
    LoadStage,
    Order,
    ReportCurrent,
    RunStages,
    StageTurn,
    Welcome,
    WorkerReport,
)
from kstreams.workers.pool import WorkerPool
from kstreams.workers.runs import RunRequest
from kstreams.workers.slow_workers import Speculation

STAGES = (LoadStage("one", b"1"), LoadStage("two", b"2"))


class FakeWorker:
    """A worker whose answers a test gives."""

    def __init__(self, endpoint: DriverEndpoint, wanted: int, process: str = "") -> None:
        self.channel = connect(endpoint.address, endpoint.secret)
        process = process or f"p{wanted}"
        self.report(
            "hello",
            wanted=wanted,
            process=process,
            address=f"at {wanted}",
            releases=endpoint.releases,
        )

    def report(self, kind: str, payloads: Sequence[bytes] = (), **fields: Any) -> None:
        self.channel.send(WorkerReport(kind, fields, payloads).pack())

    def order(self) -> Order:
        found: Order = pickle.loads(self.channel.receive())
        return found

    def has_order(self) -> bool:
        """Return whether an order has arrived that `order` has not returned."""
        return self.channel._connection.poll()

    def number(self) -> int:
        found = self.order()
        assert isinstance(found, Welcome)
        return found.number

    def runs(self) -> RunStages:
        """Return the next order to run; skip the settings of its stages and status requests."""
        found = self.order()
        while isinstance(found, (LoadStage, ReportCurrent)):
            found = self.order()
        assert isinstance(found, RunStages)
        return found

    def close(self) -> None:
        self.channel.close()


class FakeLauncher:
    """A launcher that starts nothing: it counts its calls."""

    patience_s = 0.2

    def __init__(self) -> None:
        self.launched = 0
        self.count = 0
        self.stopped = False
        self.failure: ExecutionError | None = None

    def launch(self, _: DriverEndpoint) -> None:
        self.launched += 1
        if self.failure is not None:
            raise self.failure

    def grow(self, count: int) -> None:
        self.count = count

    def stop(self) -> None:
        self.stopped = True


class PoolWithFakes:
    """A pool to which fake workers connect."""

    def __init__(self, folder: Path, size: int, *, speculation: Speculation | None = None) -> None:
        self.launcher = FakeLauncher()
        self.pool = WorkerPool(
            self.launcher,
            size,
            address=str(folder / "d"),
            worker_prefix="",
            speculation=speculation,
        )
        self.connected: list[FakeWorker] = []

    def connect(self, wanted: int, process: str = "") -> FakeWorker:
        self.connected.append(FakeWorker(self.pool.members.endpoint, wanted, process))
        return self.connected[-1]

    def close(self) -> None:
        for worker in self.connected:
            worker.close()
        self.pool.close()


class Running:
    """A batch that runs in a thread."""

    def __init__(
        self,
        pool: WorkerPool,
        calls: Mapping[int, Sequence[bytes]],
        *,
        stages: int = 1,
        width: int = 2,
    ) -> None:
        turns = tuple(StageTurn(each.stage, {}, {}) for each in STAGES[:stages])
        given = {slot: [(slot, payload) for payload in own] for slot, own in calls.items()}
        self.request = RunRequest(4, 1, turns, given, width)
        self.pool, self.stages = pool, STAGES[:stages]
        self.result: Sequence[Content] | BaseException | None = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.result = self.pool.run(self.request, self.stages, owner=self)
        except BaseException as exc:  # `end` returns it
            self.result = exc

    def end(self) -> Any:
        self.thread.join(20)
        assert not self.thread.is_alive()
        return self.result


def answer(name: str) -> bytes:
    """Return a packed result with a name, for `FakeWorker.report`."""
    return Envelope(DRIVER, 0, Refusal((), arrived={name: {0: 1}})).pack()


def names(result: Any) -> set[str]:
    """Return the names of the results of a batch."""
    return {name for each in result for name in each.arrived}
