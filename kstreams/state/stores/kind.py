"""The contract of a kind of store, which the rest of the library uses."""

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
"""The type of an opened store."""


Times = tuple["int | None", "int | None"]
"""A span of times in ms: start inclusive, end exclusive; None is unbounded."""


class Content(NamedTuple):
    """An entry of a store that is migrated to another store.

    Attributes:
        key: The key. A migration does not change it, because it decides which task owns the entry.
        value: The value, which a migration may convert; None in a table's history if the key was
            deleted at the entry's time.
        times: Other numbers that the kind needs to write the entry, usually times.
        headers: The headers of a record that waits in a join or queue; empty for other entries.
    """

    key: Any
    value: Any
    times: tuple[int, ...] = ()
    headers: Headers = ()


class AheadRows(Protocol):
    """The rows of a store that can be prefetched for the records of a batch."""

    def share_cached(self, keys: Sequence[Any]) -> float:
        """Return the fraction (0 to 1) of keys whose rows are cached."""
        ...

    def read_ahead(self, keys: Sequence[Any]) -> object:
        """Read the rows of keys into the cache, with one read of the backend."""
        ...


@dataclass(frozen=True)
class StoreKind(ABC, Generic[S]):
    """A kind of store: how stores are opened, read from outside, logged and migrated.

    Only `open` is required. The other methods enable further features, such as views or changelogs;
    by default they raise an error. Derive a frozen dataclass, with fields for the parameters of a
    definition, such as a retention: kinds are compared and pickled by class and fields.

    Attributes:
        name: The kind's name, recorded with the state and used to find the kind again.
        columns: The names of the columns of `flat`. The first column is the key; columns whose
            names end in `_ms` are integers, other columns have the type of the values.
        key_columns: The names of the columns of `flat_of_key`; None: `columns` without the key.
        absent: The result of `get` for a missing key.
        has_times: Whether `flat_of_key` can filter by time.
        holds_input: Whether the rows are unprocessed input records, which must not be lost.
        has_history: Whether the store is a table with the values of keys at earlier times.
        has_table_columns: Whether the store is a table that columnar joins can read.
        divides_rows: Whether `key_of_row` finds the key of each row.
        has_grid: Whether each row belongs to a window with fixed bounds, as tumbling windows have.
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
    divides_rows: ClassVar[bool] = False

    @property
    def grid(self) -> object:
        """The window definition of the rows; None without one, see `has_grid`."""
        return None

    @property
    def columns_of_key(self) -> tuple[str, ...]:
        """The names of the columns of `flat_of_key`."""
        return self.columns[1:] if self.key_columns is None else self.key_columns

    # ------------------------------------------------------------ tasks

    @abstractmethod
    def open(self, spec: StoreSpec[S], overlay: Overlay) -> S:
        """Return a task's store, which reads and writes through an overlay."""

    def read_ahead(self, spec: StoreSpec[S], overlay: Overlay) -> AheadRows | None:
        """Return the rows that may be prefetched by the keys of a batch's records.

        The default is None: rows cannot be read ahead by key.
        """
        return None

    def unlike(self, wanted: StoreKind[Any]) -> str:
        """Return why a processor that needs the kind `wanted` cannot use this kind, as text.

        The text is empty if the processor can use this kind; this is the default. Kinds with fields
        that must match override this method.
        """
        return ""

    def table(self, spec: StoreSpec[S], store: S) -> TableAccess:
        """Return access to a store as a table, with one value per key.

        Raises:
            TopologyError: Stores of this kind hold no table.
        """
        raise TopologyError(
            f"store {spec.name!r} is of kind {self.name!r}, which cannot hold a table",
            hint="define the store with timestamped_store(...) or versioned_key_value_store(...), "
            "or implement `table` in the kind.",
        )

    def table_columns(self, spec: StoreSpec[S], store: S) -> TableColumns:
        """Return a store as a table for columnar joins; each call returns the same object.

        Raises:
            TopologyError: The kind does not support columnar joins; see `has_table_columns`.
        """
        raise TopologyError(
            f"store {spec.name!r} of kind {self.name!r} does not support joins by columns",
            hint="join with execution='records', or implement `table_columns` in the kind.",
        )

    @property
    def is_table(self) -> bool:
        """Whether stores of this kind can hold a table."""
        return type(self).table is not StoreKind.table

    @property
    def history_ms(self) -> int | None:
        """The retention of a table's history, ms; None without a limit, or without a history."""
        return None

    # ------------------------------------------------------------ upgrades

    def parameters(self) -> Parameters:
        """Return the parameters that the rows depend on, by name; the checkpoint records them.

        A later start of the app with another value is rejected, except for `ttl_ms` and
        `retention_ms`, which may change.
        """
        return {}

    # ------------------------------------------------------------ changelogs

    def changelog(self, spec: StoreSpec[S]) -> ChangelogForm:
        """Return the format of the store's changelog records.

        Raises:
            TopologyError: The kind has no changelog.
        """
        raise TopologyError(
            f"store {spec.name!r} is of kind {self.name!r}, which does not support changelogs",
            hint="leave out with_changelog(...), or implement `changelog` in the kind.",
        )

    # ------------------------------------------------------------ views and the command line

    def routed_by(self, key: Any) -> object:  # noqa: ANN401  # as the live store takes it
        """Return the part of a store key that determines the partition."""
        return key

    def scan(self, store: S, start: object, end: object, *, reverse: bool) -> Iterator[Any]:
        """Yield the rows of a task's store with `start <= key < end`, in the order of the kind.

        None is unbounded.
        """
        raise StoreKindError(
            f"stores of kind {self.name!r} have no rows to show",
            hint="implement `scan` and `flat` in the kind.",
        )

    def order(self, spec: StoreSpec[S]) -> Callable[[Any], Any]:
        """Return a function that returns the sort key of a row of `scan`.

        By default, rows are sorted by the ordered bytes of their first element, the key.
        """
        key = spec.key.ordered.serialize
        return lambda row: key(row[0])

    def flat(self, row: Any) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401  # of `scan`
        """Convert a row of `scan` to one or more tuples of `columns`."""
        yield row

    def flat_of_key(self, store: S, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        """Yield a key's rows as tuples of `columns_of_key`; the default reads all rows.

        Args:
            store: The live store.
            key: The key.
            times: The span of times to include, for kinds with `has_times`.
        """
        for row in self.scan(store, None, None, reverse=False):
            for own, *rest in self.flat(row):
                if own == key:
                    yield tuple(rest)

    def fill(self, store: S, key: Any, value: Any) -> None:  # noqa: ANN401  # of one row
        """Write one row to a store, so that tests can set up its state.

        Args:
            store: The live store.
            key: The key of the row: the first element of a row of `scan`.
            value: The value of the row: the second element of a row of `scan`.

        Raises:
            StoreKindError: The kind does not support this method.
        """
        raise StoreKindError(
            f"stores of kind {self.name!r} cannot be filled by a test",
            hint="implement `fill` in the kind.",
        )

    def evict(self, store: S, key: Any) -> None:  # noqa: ANN401  # as the live store takes it
        """Remove all rows of a key from a store; a view does this with its own copy of the rows.

        Args:
            store: The live store.
            key: The key, as an argument of `get`.

        Raises:
            StoreKindError: The kind does not support this method.
        """
        raise StoreKindError(
            f"keys of stores of kind {self.name!r} cannot be evicted",
            hint="implement `evict` in the kind.",
        )

    def row_key(self, row: bytes) -> bytes | None:
        """Return the ordered bytes of the key in an encoded row key, for views that report changes.

        The result is None for other rows, such as index entries. Each existing key must have one
        row for which this method returns the key; this row must change whenever the result of `get`
        changes.

        Raises:
            StoreKindError: The kind does not support this method.
        """
        raise StoreKindError(
            f"changed rows of stores of kind {self.name!r} cannot be reported",
            hint="call follow(...) and read the rows, or implement `row_key` in the kind.",
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
        """Yield all entries of a task's store, for a migration to another store of this kind.

        Raises:
            CheckpointMismatchError: The kind cannot be migrated.
        """
        raise self._not_migrated(spec)

    def filling(self, spec: StoreSpec[S], overlay: Overlay) -> Callable[[Content], object]:
        """Return a function that writes an entry of `contents` to a task's store.

        Raises:
            CheckpointMismatchError: The kind cannot be migrated.
        """
        raise self._not_migrated(spec)

    # ------------------------------------------------------------ other partition counts

    @property
    def is_divisible(self) -> bool:
        """Whether the rows of a task's store can be divided among other tasks by their keys."""
        return self.divides_rows or self.is_migratable

    def key_of_row(self, row: bytes) -> bytes | None:
        """Return the ordered bytes of the key that an encoded row key belongs to.

        The result is None for rows that belong to the whole task; see `task_values`. Only kinds
        with `divides_rows` implement this method: their rows move to other tasks as bytes. The
        rows of other kinds are read by `contents`, and written by `filling`.

        Raises:
            StoreKindError: The kind does not support this method.
        """
        raise StoreKindError(
            f"rows of stores of kind {self.name!r} cannot be divided among tasks",
            hint="implement `key_of_row` and set `divides_rows` in the kind.",
        )

    def task_values(self, spec: StoreSpec[S], overlay: Overlay) -> object:
        """Return the values of a task's store that belong to no single key, such as clocks."""
        return None

    def set_task_values(
        self, spec: StoreSpec[S], overlay: Overlay, found: Sequence[object]
    ) -> None:
        """Write the values that belong to no single key, after the rows of a task were written.

        Args:
            spec: The definition of the store.
            overlay: The store of a new task, which has its rows.
            found: The results of `task_values` for all old tasks.
        """

    def _not_migrated(self, spec: StoreSpec[S]) -> CheckpointMismatchError:
        return CheckpointMismatchError(
            f"store {spec.name!r} is of kind {self.name}, which cannot be migrated",
            hint=f"begin the store empty with reset={{{spec.name!r}}}.",
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
            hint=f"define the store with {wanted.name}_store(...).",
        )
    problem = store.kind.unlike(wanted)
    if problem:
        raise TopologyError(
            f"store {store.name!r} is {problem}",
            hint="give the store and the operation the same parameter, or omit it in the store.",
        )
