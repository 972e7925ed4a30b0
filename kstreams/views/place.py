"""What a view looks at."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from kstreams.checkpoint.named_home import CheckpointName
from kstreams.graph.topology import Topology
from kstreams.state.backend.objects import ObjectStoreSettings

__all__ = ("ViewedApp",)


@runtime_checkable
class ViewedApp(Protocol):
    """What a view needs of an `App`."""

    @property
    def topology(self) -> Topology:
        """Return what it runs."""
        ...

    @property
    def checkpoint(self) -> CheckpointName:
        """Return what its checkpoint is called by."""
        ...

    @property
    def log(self) -> ObjectStoreSettings:
        """Return where its durable log is."""
        ...
