"""The settings of an app, checked once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import ModuleType
from typing import Literal

from kstreams.checkpoint.savepoint.fork import ForkSource
from kstreams.checkpoint.start.migration import Migration
from kstreams.checkpoint.start.rescale_settings import RescaleSettings
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.checkpoint.storage.telemetry_settings import Telemetry
from kstreams.errors import CompileError
from kstreams.processors.interceptor import Interceptor
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.upkeep import Upkeep

__all__ = ("AppSettings", "Packages", "store_names")

Packages = Literal["auto"] | Sequence[str | ModuleType]
"""The names or modules to send to executors. `auto`: the modules that the driver imported from
outside its environment. `my_package:certs/*.pem` also sends files that are omitted by default.
"""


@dataclass(frozen=True)
class AppSettings:
    """The settings of an app, under the names of the arguments of `App`, which documents them.

    All parts of the driver share one instance. Workers get a copy
    without the driver's settings (`for_workers`).

    Attributes:
        app_id: The id of the app, which names the checkpoint and identifies records on Kafka.
        checkpoint: The storage of the checkpoint.
        state: Backend of the stores.
        trigger: Minimum time between the starts of two batches.
        max_records_per_batch: Maximum number of records that a query reads in one batch.
        max_bytes_per_batch: Maximum number of bytes that a query, and each worker, reads in one
            batch.
        interceptors: Wrapped around every record processor.
        packages: The user's modules that executors need.
        parallelism: Maximum number of Spark tasks of a stage; None for the number of Spark's cores.
        config: Spark settings for a session that the app creates; may hold secrets, and is not
            shown.
        migrate: Migrations by the name of the new store.
        reset: The names of stores whose old contents to drop.
        on_more_partitions: The permission to divide state among another number of partitions, or
            `refuse`.
        fork: The savepoint that a new checkpoint starts from.
        retained_batches: Number of committed batches of each query that stay readable.
        repin: Whether a planned batch may read the newest versions of global tables if the planned
            versions no longer exist.
        upkeep: The frequency of snapshots and delta merges in the durable log.
        telemetry: The telemetry of the app.

    Raises:
        CompileError: A setting is out of range.
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
    on_more_partitions: Literal["refuse"] | RescaleSettings = "refuse"
    fork: ForkSource | None = None
    retained_batches: int = 10
    repin: bool = False
    upkeep: Upkeep = field(default_factory=Upkeep)
    telemetry: Telemetry = field(default_factory=Telemetry)

    def __post_init__(self) -> None:
        """Check that the settings are in range."""
        if (
            self.max_records_per_batch < 1
            or self.max_bytes_per_batch < 1
            or self.trigger < timedelta(0)
        ):
            raise CompileError(
                "expected max_records_per_batch and max_bytes_per_batch of at least 1, and no "
                f"negative trigger, got {self.max_records_per_batch}, {self.max_bytes_per_batch} "
                f"and {self.trigger}"
            )
        if self.retained_batches < 2:
            raise CompileError(
                f"retained_batches is {self.retained_batches}, expected 2 or more: a retry of a "
                "batch needs the state of the batch before"
            )

    def for_workers(self) -> AppSettings:
        """Return a copy without the settings that only the driver needs or may have.

        Migrations run on the driver and may not be picklable; `config` may hold secrets.
        """
        return replace(
            self,
            packages=(),
            config={},
            migrate={},
            reset=frozenset(),
            on_more_partitions="refuse",
            fork=None,
        )

    @property
    def rescale(self) -> RescaleSettings | None:
        """The permission to divide state among another number of partitions; None without it."""
        return None if self.on_more_partitions == "refuse" else self.on_more_partitions


def store_names(reset: Collection[str]) -> frozenset[str]:
    """Return the names of stores in `reset`.

    Raises:
        CompileError: `reset` is a single string.
    """
    if isinstance(reset, str):
        raise CompileError(f"reset is a string, expected a set of stores: reset={{{reset!r}}}")
    return frozenset(reset)
