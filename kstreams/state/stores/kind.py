"""A kind of store: all that the rest of the library asks about one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from kstreams.errors import CheckpointMismatchError, StoreKindError, TopologyError
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
    """A part of a store on its way into another store of the same kind.

    Attributes:
        key: The key, which stays: it decides in which task the part lies.
        value: The value, which a migration may convert; None in a table's history, where
            the key has none from a time on.
        times: What else the kind needs to put it back: times, as a rule.
    """

    key: Any
    value: Any
    times: tuple[int, ...] = ()


class AheadRows(Protocol):
    """The rows of a store that can be read before records ask for them."""

    def share_cached(self, keys: Sequence[Any]) -> float:
        """Return the share of keys whose rows are known without the backend, 0 to 1."""
        ...

    def read_ahead(self, keys: Sequence[Any]) -> object:
        """Read the rows of keys in one call of the backend."""
        ...


@dataclass(frozen=True)
class StoreKind(ABC, Generic[S]):
    """A kind of store: how it is opened, read from outside, logged and moved.

    A topology needs `open` alone. Each other method lets one more part of the library work
    with the kind, and raises by default. Derive as a frozen dataclass, whose further fields
    are what definitions of one kind differ in (a retention): kinds are compared and pickled
    by class and fields.

    Attributes:
        name: Recorded with the state, and how the kind is found again.
        columns: Names of what `flat` yields. The first is the key; those that end in `_ms`
            are integers, the others have the type of the store's values.
        absent: What the live store's `get` returns for a key that it does not have.
        has_times: Whether `flat_of_key` can choose by time.
        holds_input: Whether its rows are records that no processor has done with: none of them
            may be lost.
        has_history: Whether it is a table that knows what a key's value was at a time.
        has_table_columns: Whether it is a table that joins can read by columns.
    """

    name: str

    columns: ClassVar[tuple[str, ...]] = ("key", "value")
    absent: ClassVar[object] = None
    has_times: ClassVar[bool] = False
    holds_input: ClassVar[bool] = False
    has_history: ClassVar[bool] = False
    has_table_columns: ClassVar[bool] = False

    # ------------------------------------------------------------ tasks

    @abstractmethod
    def open(self, spec: StoreSpec[S], overlay: Overlay) -> S:
        """Return the live store of a task, reading and writing through its overlay."""

    def read_ahead(self, spec: StoreSpec[S], overlay: Overlay) -> AheadRows | None:
        """Return the rows that may be read ahead by the keys of a batch's records.

        None, the default, where a key does not lead to a row. The keys are the store's own.
        """
        return None

    def unlike(self, wanted: StoreKind[Any]) -> str:
        """Return why a processor that wants a kind of this class cannot use this one.

        By default it can: empty. For kinds with fields that processors have too.
        """
        return ""

    def table(self, spec: StoreSpec[S], store: S) -> TableAccess:
        """Return how a live store is read and written as a table: one value a key.

        Raises:
            TopologyError: Stores of this kind hold no table.
        """
        raise TopologyError(
            f"store {spec.name!r} is of kind {self.name!r}, which holds no table",
            hint="define it with timestamped_store(...) or versioned_key_value_store(...), or "
            "give the kind `table`.",
        )

    def table_columns(self, spec: StoreSpec[S], store: S) -> TableColumns:
        """Return how a live store is a table for joins by columns, the same one at each call.

        Raises:
            TopologyError: The kind has no such form: see `has_table_columns`.
        """
        raise TopologyError(f"store {spec.name!r} is of kind {self.name!r}: no joins by columns")

    @property
    def is_table(self) -> bool:
        """Whether stores of this kind can hold a table."""
        return type(self).table is not StoreKind.table

    # ------------------------------------------------------------ changelogs

    def changelog(self, spec: StoreSpec[S]) -> ChangelogForm:
        """Return how the store's rows become records of its changelog.

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
        """Return what records were routed by, of a key that the live store's methods take."""
        return key

    def scan(self, store: S, start: object, end: object, *, reverse: bool) -> Iterator[Any]:
        """Yield the rows of a task's part with `start <= key < end`, in the order of the kind.

        None leaves a side open.
        """
        raise StoreKindError(
            f"stores of kind {self.name!r} have no rows to show",
            hint="give the kind `scan` and `flat`.",
        )

    def order(self, spec: StoreSpec[S]) -> Callable[[Any], Any]:
        """Return what rows of `scan` are sorted by: by the bytes of their first element."""
        key = spec.key.ordered.serialize
        return lambda row: key(row[0])

    def flat(self, row: Any) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401  # of `scan`
        """Yield a row of `scan` as `columns`: once, or more often."""
        yield row

    def flat_of_key(self, store: S, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        """Yield what a task's part has of a key, without the key; by default looks at all rows.

        Args:
            store: The live store.
            key: The key.
            times: Which of it, for kinds that have times.
        """
        for row in self.scan(store, None, None, reverse=False):
            for own, *rest in self.flat(row):
                if own == key:
                    yield tuple(rest)

    # ------------------------------------------------------------ migrations

    def takes(self, other: StoreKind[Any]) -> bool:
        """Return whether `filling` takes what `contents` of another kind yields."""
        return self.name == other.name

    def contents(self, spec: StoreSpec[S], overlay: Overlay) -> Iterator[Content]:
        """Yield all that a task's part holds, to be put into another store of this kind.

        Raises:
            CheckpointMismatchError: The kind cannot be migrated.
        """
        raise self._not_migrated(spec)

    def filling(self, spec: StoreSpec[S], overlay: Overlay) -> Callable[[Content], object]:
        """Return what puts into a task's part what `contents` has yielded.

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
    """Return whether `start <= key < end`; None leaves a side open."""
    return (start is None or key >= start) and (end is None or key < end)


def check_kind(store: StoreSpec[Any], wanted: StoreKind[Any], needs: str) -> None:
    """Make sure that a processor is given the kind of store that it needs.

    Args:
        store: What it is given.
        wanted: What it needs.
        needs: Who needs it, for the message: `suppress needs`.

    Raises:
        TopologyError: The store is of another kind, or with other parameters.
    """
    if not isinstance(store.kind, type(wanted)):
        raise TopologyError(
            f"store {store.name!r} is a {store.kind.name} store, but {needs} a {wanted.name} store",
            hint=f"define it with {wanted.name}_store(...).",
        )
    problem = store.kind.unlike(wanted)
    if problem:
        raise TopologyError(
            f"store {store.name!r} is {problem}", hint="give both the same, or the store none."
        )
