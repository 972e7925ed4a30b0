"""Peers: a peer is one system, with its installation and its command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from benchmarks.suite.durability import Durability
from benchmarks.suite.workload import Workload

__all__ = ("Command", "Format", "Job", "Peer", "Timestamps", "Unavailable")

Format = Literal["windowed", "json", "decimal"]
"""Format of results.

`windowed`: Kafka Streams' windowed keys and big-endian int64. `json`: a text key and JSON of
`start`, `end` and `value`. `decimal`: a text key and a decimal number.
"""

Timestamps = Literal["event", "none"]
"""A result's timestamp: its highest event time (a session's end), or the time of the write."""


class Unavailable(Exception):
    """A peer cannot be installed on this machine; the message contains the reason."""


@dataclass(frozen=True)
class Job:
    """One run of a workload by a peer.

    The peer gets environment variables: `BENCH_WORKLOAD`, `BENCH_BOOTSTRAP`, `BENCH_INPUT`,
    `BENCH_OUTPUT` (existing topics with the dataset's number of partitions), `BENCH_INPUTS` (all
    input topics in the order of the workload's datasets, separated by commas), `BENCH_SIZES` (the
    number of records in each; 0 if unknown), `BENCH_BATCH` (the maximum number of records per
    micro-batch), `BENCH_HOME` (an empty folder for all state) and `BENCH_FILE` (the file of a
    user's own workload, else empty). The process runs until SIGTERM. A line `progress N` on its
    standard output reports that N records have been processed.

    Attributes:
        inputs: The topics of the workload's datasets, in order.
        sizes: The number of records in each, including closers; 0 if unknown.
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
        """The total number of records."""
        return sum(self.sizes)

    @property
    def log(self) -> Path:
        """The file with the output of the process, next to its home."""
        return self.home.parent / f"{self.home.name}.log"

    def environment(self) -> dict[str, str]:
        """Return the environment variables of the process."""
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
    """A process to start: its arguments, and variables in addition to the job's."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


class Peer(Protocol):
    """One system in one configuration.

    Attributes:
        name: The name on the command line.
        title: A one-line description, with the version and the settings that differ from the
            defaults.
        format: The format of its results.
        timestamps: The meaning of the timestamps of its results.
        reports_progress: Whether it always prints `progress`; if not, the output topic shows its
            progress.
        emits_updates: Whether it emits results while their window is open, so that there is a lag
            to measure.
        most_records: The maximum number of records in a run, for slow peers.
        durability: The delivery guarantee, the commits and the state.
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
    @property
    def durability(self) -> Durability: ...

    def refusal(self, workload: Workload) -> str | None:
        """Return the reason why the peer does not support a workload; None if it does."""
        ...

    def install(self, cache: Path) -> None:
        """Install the peer into a folder of its own, once; raises `Unavailable`."""
        ...

    def command(self, job: Job, cache: Path) -> Command:
        """Return the command for a job."""
        ...
