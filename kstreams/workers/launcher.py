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
        own: The path of the Unix socket at which each worker listens for other workers, without
            the worker's number; empty for TCP, on the network that leads to the driver.
        generation: The number of times that the driver has released its workers. The driver
            accepts only workers of the current generation.
    """

    address: Address
    secret: bytes = field(repr=False)
    own: str = ""
    generation: int = 0


class Launcher(Protocol):
    """Starts the worker processes of a pool."""

    @property
    def patience_s(self) -> float:
        """The maximum time, in seconds, to wait for more workers after one connected or ended."""
        ...

    def launch(self, endpoint: DriverEndpoint) -> None:
        """Start all workers that neither run nor start; called often while workers are missing.

        Raises:
            KStreamsError: Workers cannot be started, or have failed before they connected.
        """
        ...

    def grow(self, count: int) -> None:
        """Start more workers at the next launch.

        Args:
            count: The total number of workers.
        """
        ...

    def stop(self) -> None:
        """End the processes that have not ended after the driver has closed their connections."""
        ...
