"""What a peer is: one system, and how it is brought here and started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from benchmarks.suite.workload import Workload

__all__ = ("Command", "Format", "Job", "Peer", "Timestamps", "Unavailable")

Format = Literal["windowed", "json", "decimal"]
"""How results are written: Kafka Streams' windowed keys and big-endian int64; a text key and
JSON of `start`, `end` and `value`; a text key and a decimal number."""

Timestamps = Literal["event", "none"]
"""A result's timestamp: the highest event time in it (a session's end), or the time of writing."""


class Unavailable(Exception):
    """A peer cannot be had on this machine; the message says why."""


@dataclass(frozen=True)
class Job:
    """One run of a workload.

    A process is told by environment variables: `BENCH_WORKLOAD`, `BENCH_BOOTSTRAP`,
    `BENCH_INPUT`, `BENCH_OUTPUT` (topics that exist, of as many partitions as the dataset
    says), `BENCH_INPUTS` (all input topics in the order of the workload's datasets, with commas
    between), `BENCH_SIZES` (what each of them holds; 0 when it is not known), `BENCH_BATCH` (most
    records a micro-batch), `BENCH_HOME` (an empty folder, where all state goes) and
    `BENCH_FILE` (of a user's own workload, else empty). It runs until SIGTERM. On standard
    output a line `progress N` says that N records are done.

    Attributes:
        inputs: The topics of the workload's datasets, in their order.
        sizes: How many records each holds, closers included; 0 when it is not known.
    """

    workload: Workload
    bootstrap: str
    inputs: tuple[str, ...]
    output: str
    sizes: tuple[int, ...]
    batch: int
    home: Path
    file: str = ""

    @property
    def input(self) -> str:
        """The topic of the first dataset."""
        return self.inputs[0]

    @property
    def records(self) -> int:
        """How many records there are in all."""
        return sum(self.sizes)

    @property
    def log(self) -> Path:
        """What the process says, beside its home."""
        return self.home.parent / f"{self.home.name}.log"

    def environment(self) -> dict[str, str]:
        """Return the variables."""
        return {
            "BENCH_WORKLOAD": self.workload.name,
            "BENCH_BOOTSTRAP": self.bootstrap,
            "BENCH_INPUT": self.input,
            "BENCH_INPUTS": ",".join(self.inputs),
            "BENCH_OUTPUT": self.output,
            "BENCH_SIZES": ",".join(str(size) for size in self.sizes),
            "BENCH_BATCH": str(self.batch),
            "BENCH_HOME": str(self.home),
            "BENCH_FILE": self.file,
        }


@dataclass(frozen=True)
class Command:
    """A process to start: its arguments, and variables besides the job's."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


class Peer(Protocol):
    """One system in one configuration.

    Attributes:
        name: What the command line calls it.
        title: One line about it, with version and what is set other than by default.
        format: How it writes results.
        timestamps: What the timestamps of its results are.
        reports_progress: Whether it always prints `progress`; what is in the output topic tells
            where it does not.
        emits_updates: Whether results go out while their window is still open, so that
            there is a lag to measure.
        most_records: How many records a run has at most, for the slow ones.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def format(self) -> Format: ...
    @property
    def timestamps(self) -> Timestamps: ...
    @property
    def reports_progress(self) -> bool: ...
    @property
    def emits_updates(self) -> bool: ...
    @property
    def most_records(self) -> int | None: ...

    def refusal(self, workload: Workload) -> str | None:
        """Return why it cannot do a workload, or None if it can."""
        ...

    def install(self, cache: Path) -> None:
        """Bring it into a folder of its own, once; raises `Unavailable`."""
        ...

    def command(self, job: Job, cache: Path) -> Command:
        """Return what to start for a job."""
        ...
