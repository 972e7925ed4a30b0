"""What a user says of an app: its settings, checked once and handed on whole."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import ModuleType
from typing import Literal

from kstreams.checkpoint.fork import ForkSource
from kstreams.checkpoint.home import CheckpointHome
from kstreams.checkpoint.migration import Migration
from kstreams.checkpoint.telemetry_settings import Telemetry
from kstreams.errors import CompileError
from kstreams.processors.interceptor import Interceptor
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.upkeep import Upkeep

__all__ = ("AppSettings", "Packages", "store_names")

Packages = Literal["auto"] | Sequence[str | ModuleType]
"""Names or modules to send to executors; `auto` finds what the driver has imported from outside
of its environment. `my_package:certs/*.pem` also sends files that are left out otherwise."""


@dataclass(frozen=True)
class AppSettings:
    """The values that an app is given, under the names of `App`'s arguments; see there.

    Made once. The start of the app, its queries and their stages get this same value; workers
    get it without what concerns the driver alone (`for_workers`).

    Attributes:
        app_id: Names the checkpoint, and records on Kafka.
        checkpoint: Where its checkpoint is kept.
        state: Backend of the stores.
        trigger: Least time between the starts of two batches.
        max_records_per_batch: How many records a query reads in one batch at most.
        max_bytes_per_batch: How many bytes it reads, and each worker at most.
        interceptors: Wrapped around every record processor.
        packages: The user's modules that executors need.
        parallelism: Spark tasks of one stage at most; None: as many as Spark has cores.
        config: Spark's settings for a session made here; may hold secrets, and is not shown.
        migrate: By the name of a store, how its contents are made from an old store's.
        reset: Names of stores whose old contents are to be dropped.
        fork: What a new checkpoint begins on a copy of.
        retained_batches: How many committed batches of each query stay readable.
        repin: Whether a batch that was planned may read the newest versions of global tables
            where those that it names are gone.
        upkeep: How often the durable log gets snapshots, and merges of deltas.
        telemetry: What the app tells those who watch it.

    Raises:
        CompileError: A value is out of range.
    """

    app_id: str
    checkpoint: CheckpointHome
    state: StateBackend = field(default_factory=Memory)
    trigger: timedelta = timedelta(milliseconds=100)
    max_records_per_batch: int = 1_000_000
    max_bytes_per_batch: int = 256 * 1024 * 1024
    interceptors: tuple[Interceptor, ...] = ()
    packages: Packages = "auto"
    parallelism: int | None = None
    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    migrate: Mapping[str, Migration] = field(default_factory=dict)
    reset: frozenset[str] = frozenset()
    fork: ForkSource | None = None
    retained_batches: int = 10
    repin: bool = False
    upkeep: Upkeep = field(default_factory=Upkeep)
    telemetry: Telemetry = field(default_factory=Telemetry)

    def __post_init__(self) -> None:
        """Check the ranges."""
        if (
            self.max_records_per_batch < 1
            or self.max_bytes_per_batch < 1
            or self.trigger < timedelta(0)
        ):
            raise CompileError(
                "max_records_per_batch and max_bytes_per_batch are at least 1, and trigger not "
                "negative"
            )
        if self.retained_batches < 2:
            raise CompileError("retained_batches is at least 2: a batch may be tried again")

    def for_workers(self) -> AppSettings:
        """Return the settings without what only the driver needs, and what must not travel.

        Migrations are functions that run on the driver alone, and need not pickle; `config`
        may hold secrets.
        """
        return replace(self, packages=(), config={}, migrate={}, reset=frozenset(), fork=None)


def store_names(reset: Collection[str]) -> frozenset[str]:
    """Return the stores that `reset` names.

    Raises:
        CompileError: It is one text, which is a collection of letters.
    """
    if isinstance(reset, str):
        raise CompileError(f"reset is a set of stores: reset={{{reset!r}}}")
    return frozenset(reset)
