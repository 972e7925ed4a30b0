"""The contract of a kind of store, as the rest of the library uses it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from kstreams.errors import CheckpointMismatchError, StoreKindError, TopologyError
from kstreams.parameters import Parameters
from kstreams.record import Headers
from kstreams.state.cache.overlay import Overlay

if TYPE_CHECKING:
    from kstreams.state.stores.changelog_form import ChangelogForm
    from kstreams.state.stores.spec import StoreSpec
    from kstreams.state.stores.table_access import TableAccess
    from kstreams.state.stores.table_columns import TableColumns

__all__ = ("AheadRows", "Content", "StoreKind", "Times", "check_kind", "is_within")

S = TypeVar("S")
"""The live type of a store."""


Times = tuple["int | None", "int | None"]
"""Bounds in ms: from, and before; None is open."""


class Content(NamedTuple):
    """An entry of a store that is migrated to another store.

    Attributes:
        key: The key. It stays the same, because it decides which task owns the entry.
        value: The value, which a migration may convert; None in a table's history for a key
            that has no value from a time on.
        times: Other numbers that the kind needs to write the entry, usually times.
        headers: The headers of a waiting record.
    """

    key: Any
    value: Any
    times: tuple[int, ...] = ()
    headers: Headers = ()


class AheadRows(Protocol):
    """The rows of a store that can be prefetched for the records of a batch."""

    def share_cached(self, keys: Sequence[Any]) -> float:
        """Return the share of keys whose rows are known without the backend, 0 to 1."""
        ...

    def read_ahead(self, keys: Sequence[Any]) -> object:
        """Read the rows of keys in one call of the backend."""
        ...


@dataclass(frozen=True)
class StoreKind(ABC, Generic[S]):
    """A kind of store: how stores are opened, read from outside, logged and migrated.

    A topology needs only `open`. Each other method makes one more part of the library work
    with the kind, and raises by default. Derive a frozen dataclass, and add fields for the
    parameters of a definition (a retention): kinds are compared and pickled by class and fields.

    Attributes:
        name: The kind's name, recorded with the state and used to find the kind again.
        columns: Names of the columns of `flat`. The first is the key; names that end in `_ms`
            are integers, the others have the type of the store's values.
        key_columns: Names of the columns of `flat_of_key`; None for `columns` without the key.
        absent: The result of the live store's `get` for a key that it does not have.
        has_times: Whether `flat_of_key` can filter by time.
        holds_input: Whether the rows are unprocessed input records, which must not be lost.
        has_history: Whether the store is a table that knows a key's value at an earlier time.
        has_table_columns: Whether the store is a table that joins can read by columns.
        has_grid: Whether each row belongs to a window of a grid.
    """

    name: str

    columns: ClassVar[tuple[str, ...]] = ("key", "value")
    key_columns: ClassVar[tuple[str, ...] | None] = None
    absent: ClassVar[object] = None
    has_times: ClassVar[bool] = False
    holds_input: ClassVar[bool] = False
    has_history: ClassVar[bool] = False
    has_table_columns: ClassVar[bool] = False
    has_grid: ClassVar[bool] = False

    @property
    def grid(self) -> object:
        """The windows of the grid; None if the kind has none, or if the definition names none."""
        return None

    @property
    def columns_of_key(self) -> tuple[str, ...]:
        """Names of the columns of `flat_of_key`."""
        return self.columns[1:] if self.key_columns is None else self.key_columns

    # ------------------------------------------------------------ tasks

    @abstractmethod
    def open(self, spec: StoreSpec[S], overlay: Overlay) -> S:
        """Return the live store of a task, reading and writing through its overlay."""

    def read_ahead(self, spec: StoreSpec[S], overlay: Overlay) -> AheadRows | None:
        """Return the rows that may be prefetched by the keys of a batch's records.

        None, the default, if a key does not identify a row. The keys are the store's keys.
        """
        return None

    def unlike(self, wanted: StoreKind[Any]) -> str:
        """Return the reason why a processor that needs the kind `wanted` cannot use this kind.

        The default is empty: it can. Override it in kinds with fields that processors have too.
        """
        return ""

    def table(self, spec: StoreSpec[S], store: S) -> TableAccess:
        """Return access to a live store as a table, with one value for each key.

        Raises:
            TopologyError: Stores of this kind hold no table.
        """
        raise TopologyError(
            f"store {spec.name!r} is of kind {self.name!r}, which holds no table",
            hint="define it with timestamped_store(...) or versioned_key_value_store(...), or "
            "give the kind `table`.",
        )

    def table_columns(self, spec: StoreSpec[S], store: S) -> TableColumns:
        """Return a live store as a table for joins by columns: the same object at each call.

        Raises:
            TopologyError: The kind does not support joins by columns: see `has_table_columns`.
        """
        raise TopologyError(f"store {spec.name!r} is of kind {self.name!r}: no joins by columns")

    @property
    def is_table(self) -> bool:
        """Whether stores of this kind can hold a table."""
        return type(self).table is not StoreKind.table

    @property
    def history_ms(self) -> int | None:
        """The span of the history of a table, ms; None without a limit, or without a history."""
        return None

    # ------------------------------------------------------------ upgrades

    def parameters(self) -> Parameters:
        """Return the parameters that the rows depend on, by name; they are recorded.

        A later start with another value is refused, except for `ttl_ms` and `retention_ms`,
        which may change.
        """
        return {}

    # ------------------------------------------------------------ changelogs

    def changelog(self, spec: StoreSpec[S]) -> ChangelogForm:
        """Return the format of the store's changelog records.

        Raises:
            TopologyError: The kind has no changelog.
        """
        raise TopologyError(
            f"store {spec.name!r} is of kind {self.name!r}, which has no changelog: "
            "how its rows become records is not known",
            hint="leave with_changelog out, or give the kind a `changelog`.",
        )

    # ------------------------------------------------------------ views and the command line

    def routed_by(self, key: Any) -> object:  # noqa: ANN401  # as the live store takes it
        """Return the part of a store key that records are partitioned by."""
        return key

    def scan(self, store: S, start: object, end: object, *, reverse: bool) -> Iterator[Any]:
        """Yield the rows of a task's part with `start <= key < end`, in the order of the kind.

        None is unbounded.
        """
        raise StoreKindError(
            f"stores of kind {self.name!r} have no rows to show",
            hint="give the kind `scan` and `flat`.",
        )

    def order(self, spec: StoreSpec[S]) -> Callable[[Any], Any]:
        """Return the sort key of rows of `scan`: by default the bytes of a row's first element."""
        key = spec.key.ordered.serialize
        return lambda row: key(row[0])

    def flat(self, row: Any) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401  # of `scan`
        """Yield a row of `scan` as tuples of `columns`, one or more."""
        yield row

    def flat_of_key(self, store: S, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        """Yield a key's rows in a task's part, without the key; the default reads all rows.

        Args:
            store: The live store.
            key: The key.
            times: The times to include, for kinds that have times.
        """
        for row in self.scan(store, None, None, reverse=False):
            for own, *rest in self.flat(row):
                if own == key:
                    yield tuple(rest)

    def fill(self, store: S, key: Any, value: Any) -> None:  # noqa: ANN401  # of one row
        """Write a row of `scan` to a live store; tests use it to set up state.

        Args:
            store: The live store.
            key: The first element of the row.
            value: The second element of the row.

        Raises:
            StoreKindError: The kind does not support it.
        """
        raise StoreKindError(
            f"stores of kind {self.name!r} cannot be filled by a test",
            hint="define `fill` of the kind.",
        )

    def evict(self, store: S, key: Any) -> None:  # noqa: ANN401  # as the live store takes it
        """Remove all rows of a key from a live store, which is a view's own copy.

        Args:
            store: The live store.
            key: The key, in the form that the store's `get` takes.

        Raises:
            StoreKindError: The kind does not support it.
        """
        raise StoreKindError(
            f"keys of stores of kind {self.name!r} cannot be evicted",
            hint="give the kind `evict`.",
        )

    def row_key(self, row: bytes) -> bytes | None:
        """Return the ordered key of an encoded row key, for views that report changes.

        None for a row that holds no key. Each key that `get` knows has exactly one row with a key,
        and that row changes whenever the result of `get` changes.

        Raises:
            StoreKindError: The kind does not support it.
        """
        raise StoreKindError(
            f"changed rows of stores of kind {self.name!r} cannot be reported",
            hint="use follow and read the rows; or define `row_key` in the kind.",
        )

    # ------------------------------------------------------------ migrations

    @property
    def is_migratable(self) -> bool:
        """Whether stores of this kind can be migrated."""
        return type(self).contents is not StoreKind.contents

    def takes(self, other: StoreKind[Any]) -> bool:
        """Return whether `filling` accepts the `contents` of another kind."""
        return self.name == other.name

    def contents(self, spec: StoreSpec[S], overlay: Overlay) -> Iterator[Content]:
        """Yield all entries of a task's part, for a migration to another store of this kind.

        Raises:
            CheckpointMismatchError: The kind cannot be migrated.
        """
        raise self._not_migrated(spec)

    def filling(self, spec: StoreSpec[S], overlay: Overlay) -> Callable[[Content], object]:
        """Return a function that writes the entries of `contents` to a task's part.

        Raises:
            CheckpointMismatchError: The kind cannot be migrated.
        """
        raise self._not_migrated(spec)

    def _not_migrated(self, spec: StoreSpec[S]) -> CheckpointMismatchError:
        return CheckpointMismatchError(
            f"store {spec.name!r} is of kind {self.name}, which cannot be migrated",
            hint="reset it: reset={...}.",
        )


def is_within(key: Any, start: Any, end: Any) -> bool:  # noqa: ANN401  # keys of one type
    """Return whether `start <= key < end`; None is unbounded."""
    return (start is None or key >= start) and (end is None or key < end)


def check_kind(store: StoreSpec[Any], wanted: StoreKind[Any], needs: str) -> None:
    """Check that a processor's store has the kind that the processor needs.

    Args:
        store: The store that was passed.
        wanted: The kind that the processor needs.
        needs: The subject and verb of the message: `suppress needs`.

    Raises:
        TopologyError: The store is of another kind, or has other parameters.
    """
    if not isinstance(store.kind, type(wanted)):
        raise TopologyError(
            f"store {store.name!r} is a {store.kind.name} store, but {needs} a {wanted.name} store",
            hint=f"define it with {wanted.name}_store(...).",
        )
    problem = store.kind.unlike(wanted)
    if problem:
        raise TopologyError(
            f"store {store.name!r} is {problem}",
            hint="give both the same parameter, or remove it from the store.",
        )
