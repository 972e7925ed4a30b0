"""The definition of a store: its name, its kind, and the serdes of its keys and values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kstreams.parameters import Parameter
from kstreams.serde.base import Serde
from kstreams.serde.composite import parameters_in
from kstreams.state.stores.kind import StoreKind

if TYPE_CHECKING:
    from kstreams.state.cache.overlay import Overlay
    from kstreams.state.stores.changelog_form import ChangelogForm

__all__ = ("StoreSpec",)

S = TypeVar("S")
"""The type of an opened store."""
S_co = TypeVar("S_co", covariant=True)
"""The type of the store that a definition opens."""


@dataclass(frozen=True)
class StoreSpec(Generic[S_co]):
    """The definition of a store in a topology; pass it to `stores=[...]` and `context.store`.

    Two nodes with equal definitions share one store, and therefore one partition group. Create it
    with `key_value_store(...)` or the function of another kind.

    Attributes:
        name: The store's name: unique in the topology, and recorded with the state.
        kind: The kind of the store; its name is recorded with the state.
        key: Serde of the keys; its name is recorded with the state.
        value: Serde of the values; its name is recorded with the state.
        changelog: The topic to which each batch writes a record per changed key; None for a store
            without a changelog.
    """

    name: str
    kind: StoreKind[S_co]
    key: Serde[Any]
    value: Serde[Any]
    changelog: str | None = None

    def __post_init__(self) -> None:
        """Replace serdes that add a frame for topics by the serdes without the frame."""
        for part in ("key", "value"):
            serde = getattr(self, part)
            if isinstance(serde, Serde) and serde.plain is not serde:
                object.__setattr__(self, part, serde.plain)

    def open(self, overlay: Overlay) -> S_co:
        """Return a task's store, which reads and writes through an overlay."""
        return self.kind.open(self, overlay)

    def changelog_form(self) -> ChangelogForm:
        """Return the format of the store's changelog records.

        Raises:
            TopologyError: The kind has no changelog.
        """
        return self.kind.changelog(self)

    def with_changelog(self, topic: str) -> StoreSpec[S_co]:
        """Return a definition of the same store with a changelog that other systems can follow.

        Each batch writes the last value of every changed key, and a null for every deleted key,
        with the store's serdes and to the task's partition. Windows and sessions have Kafka
        Streams' windowed keys. The app creates the topic, compacted, with one partition for each
        task. A task whose store is not in the topic yet writes the whole store with its next batch.
        Embedded topics get each record exactly once, Kafka at least once.

        The library does not need the changelog to restore state; `kstreams state restore` rebuilds
        a store from it on request.

        Args:
            topic: The topic's name; no other store may use it.

        Source: `Materialized#withLoggingEnabled`.
        """
        return replace(self, changelog=topic)

    def schema(self) -> dict[str, str]:
        """Return the names of kind and serdes; the state records them to detect a change."""
        return {"kind": self.kind.name, "key": self.key.name, "value": self.value.name}

    def parameters(self) -> dict[str, Parameter]:
        """Return the parameters of kind and serdes, which are recorded with the state, too."""
        found: dict[str, Parameter] = dict(self.kind.parameters())
        for part in ("key", "value"):
            for name, value in parameters_in(getattr(self, part)).items():
                found[f"{part}.{name}"] = value
        return found
