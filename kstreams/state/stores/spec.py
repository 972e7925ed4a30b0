"""The definition of a store: its name, its kind, and the serdes of what it holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kstreams.serde.base import Serde
from kstreams.state.stores.kind import StoreKind

if TYPE_CHECKING:
    from kstreams.state.cache.overlay import Overlay
    from kstreams.state.stores.changelog_form import ChangelogForm

__all__ = ("StoreSpec",)

S = TypeVar("S")
"""The live type of a store."""
S_co = TypeVar("S_co", covariant=True)
"""The live type of a store that a definition makes."""


@dataclass(frozen=True)
class StoreSpec(Generic[S_co]):
    """A store as a topology names it; hand it to `stores=[...]` and `context.store`.

    Two nodes that are given equal definitions share one store, and so one partition
    group. Made by `key_value_store` and its siblings.

    Attributes:
        name: Unique in the topology; recorded with the state.
        kind: What kind of store it is; its name is recorded with the state.
        key: Serde of the keys; its name is recorded too.
        value: Serde of the values; likewise.
        changelog: Topic that gets a record for each key that a batch has changed; None
            without one.
    """

    name: str
    kind: StoreKind[S_co]
    key: Serde[Any]
    value: Serde[Any]
    changelog: str | None = None

    def __post_init__(self) -> None:
        """Keep what serdes of topics frame without the frame."""
        for part in ("key", "value"):
            serde = getattr(self, part)
            if isinstance(serde, Serde) and serde.plain is not serde:
                object.__setattr__(self, part, serde.plain)

    def open(self, overlay: Overlay) -> S_co:
        """Return the live store of a task, reading and writing through its overlay."""
        return self.kind.open(self, overlay)

    def changelog_form(self) -> ChangelogForm:
        """Return how the store's rows become records of its changelog.

        Raises:
            TopologyError: The kind has no changelog.
        """
        return self.kind.changelog(self)

    def with_changelog(self, topic: str) -> StoreSpec[S_co]:
        """Return a definition of the same store that other systems can follow.

        Each batch writes the last value of every key that it has changed, and a null for
        every key that it has deleted, by the store's own serdes and to the task's own
        partition. Windows and sessions have Kafka Streams' windowed keys. The app creates
        the topic, compacted, with one partition a task. A task whose store is not in the
        topic yet writes all of it with its next batch. Embedded topics get each record
        once, Kafka at least once.

        Restoring state never needs it; `kstreams state restore` rebuilds a store from it
        when asked.

        Args:
            topic: Its name; for this store alone.

        Source: `Materialized#withLoggingEnabled`.
        """
        return replace(self, changelog=topic)

    def schema(self) -> dict[str, str]:
        """Return what is recorded with the state, to notice a change."""
        return {"kind": self.kind.name, "key": self.key.name, "value": self.value.name}
