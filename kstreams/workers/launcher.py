"""The contract between the pool of workers and the code that starts their processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from kstreams.workers.channel import Address

__all__ = ("DriverEndpoint", "Launcher")


@dataclass(frozen=True)
class DriverEndpoint:
    """The data that worker processes need to connect to the driver.

    Attributes:
        address: The address of the driver.
        secret: The secret of the driver and its workers.
        worker_prefix: The path prefix of the Unix socket at which each worker listens for other
            workers; a worker appends its process id. Empty: workers listen by TCP, at their
            address on the network of the driver.
        releases: The number of times that the driver has released its workers. The driver
            accepts only workers that have joined since the last release.
    """

    address: Address
    secret: bytes = field(repr=False)
    worker_prefix: str = ""
    releases: int = 0


class Launcher(Protocol):
    """Starts the worker processes of a pool."""

    @property
    def patience_s(self) -> float:
        """The time in seconds after which a batch runs with fewer workers than it needs.

        The time starts when the last worker has connected or ended.
        """
        ...

    def launch(self, endpoint: DriverEndpoint) -> None:
        """Start the workers that are not running and not starting.

        The pool calls the method repeatedly while workers are missing.

        Raises:
            KStreamsError: Workers cannot be started, or have failed before they connected.
        """
        ...

    def grow(self, count: int) -> None:
        """Change the number of workers that `launch` starts.

        Args:
            count: The total number of workers.
        """
        ...

    def stop(self) -> None:
        """Wait for the processes; kill processes that do not end in time.

        The driver has already closed their connections, upon which workers end.
        """
        ...
