"""Reads that stand at a committed version, and move to newer ones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Generic, Protocol, TypeVar

from kstreams.state.stores.spec import StoreSpec
from kstreams.views.following import Following
from kstreams.views.named_reads import NamedReads
from kstreams.views.version_reader import VersionReader

__all__ = ("MovingReader", "VersionedReads")

S_co = TypeVar("S_co", covariant=True)
"""The live type of a store."""
V = TypeVar("V", bound="VersionedReads[object]")
"""The view that is entered."""

_POLL = timedelta(milliseconds=100)


class MovingReader(VersionReader[S_co], Protocol[S_co]):
    """A `VersionReader` that stands at a version of its own."""

    @property
    def version(self) -> int | None:
        """Return the batch of the version; None before the first."""
        ...

    @property
    def wall_ms(self) -> int | None:
        """Return when it was committed, ms since the epoch by the app's clock."""
        ...

    def versions(self) -> list[int]:
        """Return the batches whose versions are retained, rising."""
        ...

    def refresh(self) -> int | None:
        """Move to the newest version and return it; while an iteration is open, stay."""
        ...

    def close(self) -> None:
        """Let go of what it keeps; a second call does nothing."""
        ...


class VersionedReads(NamedReads[S_co], Generic[S_co]):
    """The part of a view that says at which version it is; a context, which closes it.

    Args:
        spec: The store's definition.
        versions: Its versions.
    """

    def __init__(self, spec: StoreSpec[S_co], versions: MovingReader[S_co]) -> None:
        super().__init__(spec, versions)
        self._versions = versions

    @property
    def version(self) -> int | None:
        """The committed batch that the view stands at; None before the app's first."""
        return self._versions.version

    @property
    def wall_ms(self) -> int | None:
        """When that batch was committed, ms since the epoch by the app's clock."""
        return self._versions.wall_ms

    def versions(self) -> list[int]:
        """Return the batches whose versions are retained, rising."""
        return self._versions.versions()

    def refresh(self) -> int | None:
        """Move to the newest version and return it; while an iteration is open, stay."""
        return self._versions.refresh()

    def follow(self, callback: Callable[[int], None], *, poll: timedelta = _POLL) -> Following:
        """Call back with the version now and after each commit, in a thread of its own.

        Commits that come faster than the callback returns are passed over, to the newest.
        Reads inside the callback see that version or a newer one.

        Args:
            callback: Called with the version.
            poll: How often to look.

        Returns:
            What ends it: `close()`, or the end of a `with`; raises what the callback raised.
        """
        return Following(self.refresh, callback, poll)

    def close(self) -> None:
        """Let go of working copies and connections; a second call does nothing."""
        self._versions.close()

    def __enter__(self: V) -> V:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
