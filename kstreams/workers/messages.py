"""The messages between the driver and its workers.

The driver sends pickled orders: workers trust the driver. A worker sends JSON and payloads of
`Envelope`: the driver unpickles nothing that a worker sends.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kstreams.batch.worker.stage_run import Cuts
from kstreams.errors import ExecutionError
from kstreams.global_tables.versions import Versions
from kstreams.workers.channel import Address

__all__ = (
    "CancelRun",
    "ForgetStages",
    "Leave",
    "LoadStage",
    "Order",
    "ReportCurrent",
    "RunStages",
    "StageTurn",
    "Welcome",
    "WorkerReport",
)

_LENGTH = struct.Struct(">I")


@dataclass(frozen=True)
class Welcome:
    """Notifies a worker that the driver has accepted its connection.

    Attributes:
        number: The number of the worker.
    """

    number: int


@dataclass(frozen=True)
class LoadStage:
    """The settings of a stage, sent once to each worker.

    Attributes:
        stage: The key of the stage: a digest of its settings.
        settings: The pickled `StageSettings`.
        import_path: Folders of the user's modules.
    """

    stage: str
    settings: bytes = field(repr=False)
    import_path: tuple[str, ...] = ()


@dataclass(frozen=True)
class StageTurn:
    """The data of one stage in one batch, which are the same for all workers.

    Attributes:
        stage: The key of the stage; see `LoadStage`.
        cuts: `Plan.cuts` of the batch: the plan revisions that reduced the input of tasks.
        versions: The versions of global tables that the stage reads.
    """

    stage: str
    cuts: Cuts
    versions: Versions


@dataclass(frozen=True)
class RunStages:
    """Makes a worker take part in a run, which is one attempt at a batch.

    Attributes:
        run: The id of the run, larger than all earlier ids.
        batch: The number of the batch.
        attempt: The number of attempts at the batch, including this one.
        turns: The data of each stage, in the order of the stages.
        slots: The worker number of each slot. A slot is a share of a stage's tasks that one worker
            runs: task `t` of a later stage has the slot `t % len(slots)`.
        peers: The addresses of all workers of the run, by number; empty if there is one stage.
        calls: The packed calls of the tasks that this worker runs.
        reports_progress: Whether the worker reports the end of each stage.
    """

    run: int
    batch: int
    attempt: int
    turns: tuple[StageTurn, ...]
    slots: tuple[int, ...]
    peers: Mapping[int, Address]
    calls: Sequence[bytes] = field(repr=False)
    reports_progress: bool = False


@dataclass(frozen=True)
class CancelRun:
    """Cancels a run; its results are not used.

    Attributes:
        run: The id of the run.
        interrupt: Whether to interrupt the run's code, including code of the user.
    """

    run: int
    interrupt: bool = False


@dataclass(frozen=True)
class ForgetStages:
    """Releases the settings of stages whose query has ended.

    Attributes:
        stages: The keys of the stages.
    """

    stages: tuple[str, ...]


@dataclass(frozen=True)
class Leave:
    """Ends a worker.

    Attributes:
        at_once: Whether the worker ends after its current stage; otherwise it first completes its
            runs.
    """

    at_once: bool = False


@dataclass(frozen=True)
class ReportCurrent:
    """Makes a worker report the run whose code it executes, also while that code blocks.

    Attributes:
        run: The id of the attempt that waits for the worker.
    """

    run: int


Order = Welcome | LoadStage | RunStages | CancelRun | ForgetStages | Leave | ReportCurrent
"""The messages from the driver to a worker."""


@dataclass(frozen=True)
class WorkerReport:
    """A message from a worker to the driver.

    Attributes:
        kind: "hello", "stage" (a later stage begins), "task" (a task begins), "sent" (a stage
            before the last one has ended), "current" (the answer to `ReportCurrent`), "done",
            "failed", "lost" (another worker cannot be reached) or "canceled".
        fields: JSON-compatible data that belong to the kind, such as the id of a run.
        payloads: Packed envelopes for the driver.
    """

    kind: str
    fields: Mapping[str, Any]
    payloads: Sequence[bytes] = ()

    def pack(self) -> bytes:
        """Return the message as bytes."""
        head = json.dumps([self.kind, self.fields, [len(each) for each in self.payloads]]).encode()
        return b"".join((_LENGTH.pack(len(head)), head, *self.payloads))

    @classmethod
    def unpack(cls, data: bytes) -> WorkerReport:
        """Parse the result of `pack`.

        Raises:
            ExecutionError: The bytes are damaged, or of another version of the library.
        """
        try:
            (length,) = _LENGTH.unpack_from(data)
            at = _LENGTH.size + length
            kind, fields, sizes = json.loads(data[_LENGTH.size : at])
            payloads = []
            for size in sizes:
                payloads.append(data[at : at + size])
                at += size
            return cls(str(kind), dict(fields), payloads)
        except (ValueError, TypeError, struct.error) as exc:
            raise ExecutionError(
                f"the driver cannot read a message of a worker: {exc}",
                hint="all machines must run the same version of kstreams.",
            ) from exc
