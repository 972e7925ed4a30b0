"""What a view looks at."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from kstreams.graph.topology import Topology
from kstreams.state.backend.objects import ObjectStoreSettings

__all__ = ("ViewedApp",)


class ViewedApp(Protocol):
    """What a view needs of an `App`."""

    @property
    def topology(self) -> Topology:
        """Return what it runs."""
        ...

    @property
    def checkpoint(self) -> Path:
        """Return its checkpoint directory."""
        ...

    @property
    def log(self) -> ObjectStoreSettings:
        """Return where its durable log is."""
        ...
