"""Spark's part in a scene: batches begun and committed, tasks tried again, their state kept."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from kstreams.spark import stage
from kstreams.spark.envelope import Envelope
from kstreams.spark.pipeline import PipelineSettings
from tests.crash.faults import Faults

if TYPE_CHECKING:
    from tests.crash.scene import Scene

__all__ = ("PlayedSpark",)

_ATTEMPTS = 3


class PlayedSpark:
    """Spark's part: it remembers which plan a batch read, and commits the tasks' pointers.

    Its own log is in the query's directory, where Spark's is.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.starts = 0
        self.isActive = True

    # ------------------------------------------------------------ as `TaskContext`

    def get(self) -> PlayedSpark:
        return self

    def getLocalProperty(self, _: str) -> str:  # noqa: N802  # Spark's name
        return str(self._batch)

    # ------------------------------------------------------------ as a query under construction

    def begin(self, settings: PipelineSettings) -> PlayedSpark:
        self.starts += 1
        self._settings = settings
        self._commits = settings.path / "spark" / "commits"
        self._begun = settings.path / "spark" / "offsets"
        for folder in (self._commits, self._begun):
            folder.mkdir(parents=True, exist_ok=True)
        return self

    def __getattr__(self, name: str) -> Any:
        if name in ("queryName", "outputMode", "option", "trigger", "start"):
            return lambda *_, **__: self
        raise AttributeError(name)

    @property
    def writeStream(self) -> PlayedSpark:  # noqa: N802  # Spark's name
        return self

    def foreachBatch(self, function: Any) -> PlayedSpark:  # noqa: N802  # Spark's name
        self._on_batch = function
        return self

    # ------------------------------------------------------------ running

    def is_replaying(self) -> bool:
        """Tell whether a batch was begun that is not committed."""
        return _newest(self._begun) > _newest(self._commits)

    def run_batch(self) -> None:
        """Run the batch that was begun, or begin the next one."""
        batch = _newest(self._commits) + 1
        if not self.is_replaying():
            (self._begun / str(batch)).write_text(str(self._next_plan()))
        plan = int((self._begun / str(batch)).read_text())
        self._batch = batch
        states = dict(self._states(batch - 1))
        rows: list[SimpleNamespace] = []
        for key, envelopes in self._read(plan).items():
            rows += self._run_task(key, envelopes, states)
        self._on_batch(SimpleNamespace(collect=lambda: rows), batch)
        (self._commits / str(batch)).write_text(json.dumps(list(states.items())))

    def _run_task(self, key: int, envelopes: list[Envelope], states: dict[int, Any]) -> list[Any]:
        scene = self._scene
        for _ in range(_ATTEMPTS):
            state = PlayedState(states.get(key), scene.faults)
            run = stage._StageRun(self._settings.stages[0], key, state)  # type: ignore[arg-type]
            try:
                frame = run.frame(envelopes)
            except Exception:
                if scene.point.dies != "task" or not scene.has_died():
                    raise
                scene.recover(driver=False)
            else:
                states[key] = state.value
                return [SimpleNamespace(payload=payload) for payload in frame["payload"]]
        raise AssertionError("a fault strikes once")

    def _states(self, batch: int) -> list[tuple[int, Any]]:
        return [] if batch < 0 else json.loads((self._commits / str(batch)).read_text())

    def _next_plan(self) -> int:
        read = [int(path.read_text()) for path in self._begun.iterdir()]
        return max(read, default=-1) + 1

    def _read(self, plan: int) -> dict[int, list[Envelope]]:
        found: dict[int, list[Envelope]] = defaultdict(list)
        file = self._settings.path / "plans" / f"{plan:012d}.json"
        for line in file.read_text().splitlines()[1:]:
            row = json.loads(line)
            found[row["key"]].append(Envelope.unpack(base64.b64decode(row["payload"])))
        return found


class PlayedState:
    """One task's `GroupState` in one attempt."""

    def __init__(self, value: tuple[int, str] | None, faults: Faults) -> None:
        self.value = value
        self._faults = faults

    @property
    def exists(self) -> bool:
        return self.value is not None

    @property
    def get(self) -> tuple[int, str]:
        assert self.value is not None
        return self.value

    def update(self, value: tuple[int, str]) -> None:
        if not self._faults.dead:
            stage._SNAPSHOTS.drain()  # what is made beside belongs to this batch
        self._faults.reach("pointer told")
        self.value = value

    def getCurrentProcessingTimeMs(self) -> int:  # noqa: N802  # Spark's name
        return 0


def _newest(folder: Path) -> int:
    return max((int(path.name) for path in folder.iterdir()), default=-1)
