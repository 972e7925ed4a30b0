"""Remove duplicate records."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, overload

from kstreams._types import K, V
from kstreams.clock import to_ms
from kstreams.errors import TopologyError
from kstreams.options import checks_options
from kstreams.parameters import Parameter
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.context import ProcessorContext
from kstreams.processors.processor import BaseProcessor
from kstreams.processors.supplier import StoreParameters, StoreSupplier
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.numbers import INT64
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.state.stores.spec import StoreSpec

__all__ = (
    "HeaderId",
    "HeaderSupplier",
    "KeyId",
    "KeySupplier",
    "LatePolicy",
    "by_header",
    "by_key",
    "deduplicate",
)

I = TypeVar("I", bound=Hashable)  # noqa: E741  # an id
"""Type of the ids."""

LatePolicy = Literal["forward", "drop"]
"""The policy for a record that is too late to be recognized as a duplicate."""


@dataclass(frozen=True)
class _DeduplicateSupplier(Generic[K, V]):
    """Creates the processors of `deduplicate`, and declares their store."""

    by: Callable[[Record[K, V]], Any]
    within_ms: int
    late: LatePolicy
    store: StoreSpec[KeyValueStore[Any, int]]
    is_by_key: bool = False

    def __call__(self) -> ClosureProcessor[K, V, K, V]:
        """Return a new processor."""
        return _Deduplicate(self)

    @property
    def grace_ms(self) -> int:
        """Return the age in ms, relative to stream time, beyond which records are late."""
        return self.within_ms

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store, which has the time of each forwarded id."""
        return (self.store,)

    @property
    def keyed_stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store if the ids are the record keys; otherwise nothing."""
        return self.stores if self.is_by_key else ()

    @property
    def store_parameters(self) -> StoreParameters:
        """Return the parameters of stored rows: the time span and, if known, the kind of the id."""
        found: dict[str, Parameter] = {"deduplicate.within_ms": self.within_ms}
        owner = getattr(self.by, "__self__", None)
        if isinstance(owner, KeyId):
            found["deduplicate.id"] = "key"
        elif isinstance(owner, HeaderId):
            found["deduplicate.id"] = f"header {owner.name!r}"
        return {self.store.name: found}


class KeySupplier(Protocol[K]):
    """Creates the processors of `deduplicate` by key, for values of any type."""

    def __call__(self) -> BaseProcessor[K, V, K, V]:
        """Return a new processor."""
        ...

    @property
    def stores(self) -> tuple[StoreSpec[object], ...]:
        """Return the store."""
        ...


class HeaderSupplier(Protocol):
    """Creates the processors of `deduplicate` by header, for keys and values of any type."""

    def __call__(self) -> BaseProcessor[K, V, K, V]:
        """Return a new processor."""
        ...

    @property
    def stores(self) -> tuple[StoreSpec[object], ...]:
        """Return the store."""
        ...


@overload
def deduplicate(
    by: KeyId,
    *,
    id: Serde[K],
    within: timedelta,
    store: str,
    late: LatePolicy = ...,
    changelog: str | None = ...,
) -> KeySupplier[K]: ...
@overload
def deduplicate(
    by: HeaderId,
    *,
    id: Serde[bytes],
    within: timedelta,
    store: str,
    late: LatePolicy = ...,
    changelog: str | None = ...,
) -> HeaderSupplier: ...
@overload
def deduplicate(
    by: Callable[[Record[K, V]], I | None],
    *,
    id: Serde[I],
    within: timedelta,
    store: str,
    late: LatePolicy = ...,
    changelog: str | None = ...,
) -> StoreSupplier[K, V, K, V]: ...
@checks_options
def deduplicate(
    by: KeyId | HeaderId | Callable[[Record[Any, Any]], Any],
    *,
    id: Serde[Any],  # noqa: A002  # its best name
    within: timedelta,
    store: str,
    late: LatePolicy = "forward",
    changelog: str | None = None,
) -> Any:
    """Forward a record unless a record with the same id and a near timestamp was forwarded.

    A timestamp is near if it is at most `within` earlier or later. The first arriving record is
    forwarded, even if it is the newer one. A duplicate is counted as dropped, with the reason
    `duplicate`, and does not extend the retention of its id. An id is removed when stream time
    exceeds its timestamp by more than twice `within`.

    A record more than `within` before stream time is late, because its id may have been removed. A
    late duplicate of a retained id is dropped; `late` is the policy for other late records. A
    record without an id is forwarded.

    Ids are compared within a task: records with equal ids need equal keys, or a repartition first.
    The operator also helps with a fork to another cluster: if the original topology has it, the
    fork knows the ids of the original, and may start reading somewhat too early.

    Args:
        by: Returns the id of a record: `by_key()`, `by_header("name")` or a custom function.
        id: The serde of the ids.
        within: The maximum time between duplicates; the size of the state grows with it.
        store: The name of the store, unique in the topology.
        late: The policy for late records: `forward`, so that no record is lost; or `drop`, counted
            as `late`, so that no record is forwarded twice.
        changelog: The name of the store's changelog topic; none by default.

    Raises:
        TopologyError: The span is negative.
        OptionError: `late` is neither `forward` nor `drop`.

    Source: KIP-655 (`KStream#distinct`), with the time span centered on the first record.
    """
    if within < timedelta(0):
        raise TopologyError(f"deduplicate: within is {within}, expected 0 or more")
    span = 2 * within + timedelta(milliseconds=1)
    seen = key_value_store(store, key=id, value=INT64, ttl=span)
    if changelog is not None:
        seen = seen.with_changelog(changelog)
    find = by if callable(by) else by.of
    return _DeduplicateSupplier(find, to_ms(within), late, seen, isinstance(by, KeyId))


def by_header(name: str) -> HeaderId:
    """Return a `by` for `deduplicate`: the id is the last header of this name."""
    return HeaderId(name)


def by_key() -> KeyId:
    """Return a `by` for `deduplicate`: the id is the key."""
    return KeyId()


@dataclass(frozen=True)
class KeyId:
    """The key as id; created by `by_key`."""

    def of(self, record: Record[object, object]) -> object:
        """Return the key; None if the record has none."""
        return record.key


@dataclass(frozen=True)
class HeaderId:
    """The value of a header as id; created by `by_header`."""

    name: str

    def of(self, record: Record[object, object]) -> bytes | None:
        """Return the value of the last header of this name; None if there is none."""
        for name, value in reversed(record.headers):
            if name == self.name:
                return value
        return None


class _Deduplicate(ClosureProcessor[K, V, K, V]):
    keeps_key: ClassVar[bool] = True

    def __init__(self, settings: _DeduplicateSupplier[K, V]) -> None:
        self._settings = settings

    def bind(self, context: ProcessorContext[K, V]) -> Callable[[Record[K, V]], None]:
        settings = self._settings
        seen = context.store(settings.store)
        by, within, forward = settings.by, settings.within_ms, context.forward
        drops_late = settings.late == "drop"

        def process(record: Record[K, V]) -> None:
            own, time = by(record), record.timestamp
            if own is None:
                forward(record)
                return
            before = seen.get(own)
            if before is not None and abs(time - before) <= within:
                context.drop("duplicate")
                return
            if drops_late and time < context.stream_time - within:
                context.drop("late")
                return
            if before is None or time > before:
                seen.put(own, time)
            forward(record)

        return process
