"""The definition of a store: its name, what it holds, and how its live form is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from kstreams.serde.base import Serde

if TYPE_CHECKING:
    from kstreams.state.overlay import Overlay

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
    """

    name: str
    kind: str
    key: Serde[Any]
    value: Serde[Any]
    factory: StoreFactory[S]

    def schema(self) -> dict[str, str]:
        """Return what is recorded with the state, to notice a change."""
        return {"kind": self.kind, "key": self.key.name, "value": self.value.name}
