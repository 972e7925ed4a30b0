"""The definition of a store: its name, what it holds, and how its live form is made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from kstreams.serde.base import Serde

if TYPE_CHECKING:
    from kstreams.state.cache.overlay import Overlay

__all__ = ("StoreSpec",)

S = TypeVar("S")
"""The live type of a store."""
S_co = TypeVar("S_co", covariant=True)
"""The live type of a store that a factory makes."""


class StoreFactory(Protocol[S_co]):
    """Makes the live form of a store; a module-level class or function, for pickling."""

    def __call__(self, spec: StoreSpec[Any], overlay: Overlay) -> S_co:
        """Make the live form of `spec`, reading and writing through a task's overlay."""
        ...


@dataclass(frozen=True)
class StoreSpec(Generic[S]):
    """A store as a topology names it; hand it to `stores=[...]` and `context.store`.

    Two nodes that are given equal definitions share one store, and so one partition
    group. Made by `key_value_store` and its siblings.

    Attributes:
        changelog: Topic that gets a record for each key that a batch has changed; None
            without one.
    """

    name: str
    kind: str
    key: Serde[Any]
    value: Serde[Any]
    factory: StoreFactory[S]
    changelog: str | None = None

    def with_changelog(self, topic: str) -> StoreSpec[S]:
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
        return {"kind": self.kind, "key": self.key.name, "value": self.value.name}
