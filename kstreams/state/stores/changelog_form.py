"""The contract of a kind of store that can be written to a changelog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from kstreams.serde.base import Serde

__all__ = ("COMPACTED", "Before", "ChangelogForm", "Entry", "Pair", "plain_key", "values_before")

COMPACTED: Mapping[str, str] = {"cleanup.policy": "compact"}
"""Settings of a topic that keeps the last record of each key."""

Pair = tuple[bytes, "bytes | None"]
"""An encoded row of a store, as the backend has it; None is a deletion."""

Before = Callable[[Sequence[bytes]], "list[bytes | None]"]
"""Returns what rows held before the batch, by their encoded keys."""


class Entry(NamedTuple):
    """A record of a changelog: encoded by the store's own serdes; timestamp in ms."""

    key: bytes
    value: bytes | None
    timestamp: int


class ChangelogForm(Protocol):
    """How one store's rows become records, and records its rows again."""

    @property
    def config(self) -> Mapping[str, str]:
        """Return the settings of the topic, by Kafka's names."""
        ...

    def entries(self, changes: Sequence[Pair], before: Before, time_ms: int) -> Iterator[Entry]:
        """Yield the records of what a batch has changed, in a fixed order.

        Args:
            changes: Rows by rising key.
            before: What rows held; all absent when the whole store is written.
            time_ms: The time of what has none of its own.
        """
        ...

    def put(self, store: Any, entry: Entry) -> None:  # noqa: ANN401  # the kind's live store
        """Do with a live store what a record says.

        Raises:
            DeserializationError: The record is not of this store.
        """
        ...


def plain_key(key: Serde[Any]) -> Callable[[bytes], bytes]:
    """Return what turns a store's ordered key bytes into those that topics have."""
    ordered = key.ordered
    if ordered == key:
        return bytes
    read, write = ordered.deserialize, key.serialize
    return lambda data: write(read(data))


def values_before(before: Before, keys: Iterable[bytes]) -> dict[bytes, bytes | None]:
    """Return what rows held, by key."""
    wanted = list(keys)
    return dict(zip(wanted, before(wanted), strict=True))
