"""The definition of a topic: its name, the encoding of its records, and its null policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, overload

from kstreams.framing import Framing, RawParts
from kstreams.options import checks_options
from kstreams.partitioner import (
    InnerKeyPartitioner,
    Murmur2Partitioner,
    Partitioner,
    checked_partitioner,
)
from kstreams.record import Headers, Record
from kstreams.serde.base import Serde
from kstreams.serde.framed import frame_of, in_topic

__all__ = (
    "Misplaced",
    "Nulls",
    "Topic",
    "TopicChoice",
    "default_partitioner",
    "partitioner_for",
    "topic_by",
)

Nulls = Literal["drop", "pass"]
"""The policy of a source for nulls: drop and count the record, or pass None."""

Misplaced = Literal["fail", "count"]
"""The policy for a key in a partition that the topic's partitioner does not choose."""

K = TypeVar("K")
"""Type of the keys that the topology sees."""
V = TypeVar("V")
"""Type of the values that the topology sees."""
K0 = TypeVar("K0")
"""Type of the keys that the key serde converts."""
V0 = TypeVar("V0")
"""Type of the values that the value serde converts."""

_MURMUR2 = Murmur2Partitioner()


def partitioner_for(given: Partitioner | None, key: Serde[Any], place: str) -> Partitioner:
    """Return the given partitioner if it is valid, or the default of the key's serde.

    Raises:
        TopologyError: The object is not a partitioner. The message has its class and `place`.
    """
    return default_partitioner(key) if given is None else checked_partitioner(given, place)


def default_partitioner(key: Serde[Any]) -> Partitioner:
    """Return the default partitioner for the keys of a serde."""
    tail: int = getattr(key, "tail_bytes", 0)  # `build` reports a value that is not a serde
    return InnerKeyPartitioner(tail) if tail else _MURMUR2


class Topic(Generic[K, V]):
    """A topic that a topology reads or writes. Immutable; compares by value.

    Args:
        name: The name of the topic.
        key: The serde of the keys; `NONE` if keys do not matter.
        value: The serde of the values.
        nulls: The policy of a source for null values (tombstones). `"pass"` types the source
            `Node[K, V | None]`.
        null_keys: The policy of a source for null keys. `"pass"` types the source `Node[K | None,
            V]`. Without effect if the key serde is `NONE`.
        partitioner: Chooses the partition of a key for writers. None is Kafka's murmur2; for
            windowed keys the murmur2 of the key without its window, as in Kafka Streams.
        misplaced: The policy of a source for a key in another partition than `partitioner` chooses,
            if the key should meet records of another source in a join or a store: equal keys are
            then in two tasks. The source checks a sample of each batch. `"fail"` stops the app with
            a `MisplacedKeyError`. With `"count"`, or with `on_error="skip"` or `DeadLetter` at the
            source, the key is counted as `misplaced-key` and its record is processed.
        framing: Where prefixes of keys and values, such as schema ids, are stored; None means in
            front of their bytes. See `Framing`.
    """

    __slots__ = (
        "framing",
        "key",
        "misplaced",
        "name",
        "null_keys",
        "nulls",
        "partitioner",
        "value",
    )

    @overload
    def __init__(
        self: Topic[K0, V0],
        name: str,
        key: Serde[K0],
        value: Serde[V0],
        *,
        nulls: Literal["drop"] = ...,
        null_keys: Literal["drop"] = ...,
        partitioner: Partitioner | None = ...,
        misplaced: Misplaced = ...,
        framing: Framing | None = ...,
    ) -> None: ...
    @overload
    def __init__(
        self: Topic[K0, V0 | None],
        name: str,
        key: Serde[K0],
        value: Serde[V0],
        *,
        nulls: Literal["pass"],
        null_keys: Literal["drop"] = ...,
        partitioner: Partitioner | None = ...,
        misplaced: Misplaced = ...,
        framing: Framing | None = ...,
    ) -> None: ...
    @overload
    def __init__(
        self: Topic[K0 | None, V0],
        name: str,
        key: Serde[K0],
        value: Serde[V0],
        *,
        nulls: Literal["drop"] = ...,
        null_keys: Literal["pass"],
        partitioner: Partitioner | None = ...,
        misplaced: Misplaced = ...,
        framing: Framing | None = ...,
    ) -> None: ...
    @overload
    def __init__(
        self: Topic[K0 | None, V0 | None],
        name: str,
        key: Serde[K0],
        value: Serde[V0],
        *,
        nulls: Literal["pass"],
        null_keys: Literal["pass"],
        partitioner: Partitioner | None = ...,
        misplaced: Misplaced = ...,
        framing: Framing | None = ...,
    ) -> None: ...
    @checks_options
    def __init__(
        self,
        name: str,
        key: Serde[Any],
        value: Serde[Any],
        *,
        nulls: Nulls = "drop",
        null_keys: Nulls = "drop",
        partitioner: Partitioner | None = None,
        misplaced: Misplaced = "fail",
        framing: Framing | None = None,
    ) -> None:
        """Define a topic; see the class for the arguments."""
        self.name = name
        apart = framing is not None
        self.key: Serde[Any] = in_topic(key, name, "key", apart=apart)
        self.value: Serde[Any] = in_topic(value, name, "value", apart=apart)
        self.nulls: Nulls = nulls
        self.null_keys: Nulls = null_keys
        self.partitioner = partitioner_for(partitioner, key, f"topic {name!r}")
        self.misplaced: Misplaced = misplaced
        self.framing = framing

    def framed(self, key: bytes | None, value: bytes | None, headers: Headers) -> RawParts:
        """Convert an encoded record to its form in the topic, by the topic's framing."""
        if self.framing is None:
            return key, value, headers
        frames = frame_of(self.key), frame_of(self.value)
        return self.framing.write_record(key, value, headers, frames)

    def unframed(self, key: bytes | None, value: bytes | None, headers: Headers) -> RawParts:
        """Convert a record of the topic to the form that serdes decode, by the topic's framing."""
        if self.framing is None:
            return key, value, headers
        return self.framing.read_record(key, value, headers)

    def _parts(self) -> tuple[object, ...]:
        policies = (self.nulls, self.null_keys, self.misplaced, self.framing)
        return (self.name, self.key, self.value, self.partitioner, *policies)

    def __eq__(self, other: object) -> bool:
        """Compare by value."""
        return isinstance(other, Topic) and self._parts() == other._parts()

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)

    def __repr__(self) -> str:
        """Return a text with the name and the serdes."""
        return f"Topic({self.name!r}, key={self.key!r}, value={self.value!r})"


@checks_options
@dataclass(frozen=True)
class TopicChoice(Generic[K, V]):
    """A function that chooses the sink's topic for each record; see `topic_by`."""

    choose: Callable[[Record[K, V]], str]
    key: Serde[Any]
    value: Serde[Any]
    partitioner: Partitioner
    label: str
    nulls: Nulls = "drop"
    framing: Framing | None = None


@overload
def topic_by(
    choose: Callable[[Record[K, V]], str],
    *,
    key: Serde[K],
    value: Serde[V],
    partitioner: Partitioner | None = ...,
    label: str = ...,
    framing: Framing | None = ...,
) -> TopicChoice[K, V]: ...
@overload
def topic_by(
    choose: Callable[[Record[K, V | None]], str],
    *,
    key: Serde[K],
    value: Serde[V],
    nulls: Literal["pass"],
    partitioner: Partitioner | None = ...,
    label: str = ...,
    framing: Framing | None = ...,
) -> TopicChoice[K, V | None]: ...
@checks_options
def topic_by(
    choose: Callable[[Record[Any, Any]], str],
    *,
    key: Serde[Any],
    value: Serde[Any],
    nulls: Nulls = "drop",
    partitioner: Partitioner | None = None,
    label: str = "chosen per record",
    framing: Framing | None = None,
) -> TopicChoice[Any, Any]:
    """Return a topic choice: a sink calls a function to choose the topic of each record.

    Args:
        choose: Returns the name of a topic. It runs once for each record, on the executor.
        key: The serde of the keys of all chosen topics.
        value: The serde of the values of all chosen topics.
        nulls: `"pass"` types the sink for `V | None`; None is written as a tombstone.
        partitioner: Chooses the partition of a key; None as for a `Topic`.
        label: The text in diagrams instead of a name.
        framing: As for a `Topic`.
    """
    rule = partitioner_for(partitioner, key, f"topic_by {label!r}")
    return TopicChoice(choose, key, value, rule, label, nulls, framing)
