"""Processors of `TopologyBuilder.branch` and `merge`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic

from kstreams._types import K, V
from kstreams.expressions.computation import Computation
from kstreams.expressions.function import TreeFunction
from kstreams.processors.branch_columns import (
    BranchColumns,
    Branches,
    ComputedBranch,
    ForwardColumns,
    ForwardRecords,
    T,
)
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.column_form import Input, Need, NodeForm, Reason
from kstreams.processors.columns import ColumnProcessor, ColumnSource, RecordColumns
from kstreams.processors.context import ProcessorContext
from kstreams.processors.entered import entered
from kstreams.processors.processor import FixedKeyProcessor
from kstreams.processors.supplier import Supplier
from kstreams.record import Record

__all__ = ("Branch", "PassThrough", "Through")


class PassThrough(ClosureProcessor[K, V, K, V]):
    """Forwards each record unchanged: `process` is the context's `forward` method.

    So a record costs no extra call.
    """

    hands_on: ClassVar[HandsOn] = "one"
    keeps_key: ClassVar[bool] = True

    def bind(self, context: ProcessorContext[K, V]) -> Callable[[Record[K, V]], None]:
        """Return the context's `forward`."""
        return context.forward


@dataclass(frozen=True)
class Through(Generic[K, V]):
    """Creates the processors that forward each record unchanged, by records or by columns."""

    def __call__(self) -> PassThrough[K, V]:
        """Return a new processor of single records."""
        return PassThrough()

    @property
    def column_form(self) -> NodeForm:
        """Return the column form, which forwards each table unchanged."""
        return NodeForm(
            (Need.COLUMNS,),
            lambda _: ForwardColumns(),
            follower=True,
            over_records=ForwardRecords,
            passes_all=True,
        )


class Branch(FixedKeyProcessor[K, V, V]):
    """Forwards each record to the child of the first predicate that is true."""

    def __init__(
        self, name: str, branches: Mapping[str, Callable[[K, V], bool]], default: str | None
    ) -> None:
        self._choices = [(f"{name}.{label}", test) for label, test in branches.items()]
        self._default = None if default is None else f"{name}.{default}"

    @classmethod
    def supplier(
        cls, name: str, branches: Mapping[str, Callable[[K, V], bool]], default: str | None
    ) -> Supplier[K, V, K, V]:
        """Return a supplier of `Branch` processors.

        Args:
            name: The name of the node; the children are `<name>.<branch>`.
            branches: The predicates by branch, in the order in which they are tried.
            default: The branch of records for which no predicate is true; None drops them.
        """
        return _Branching(name, tuple(branches.items()), default)

    def process(self, record: Record[K, V]) -> None:
        """Forward to the first branch whose predicate is true, otherwise to the default."""
        for child, test in self._choices:
            if test(record.key, record.value):
                self.context.forward_to(child, record)
                return
        if self._default is None:
            self.context.drop("no-branch")
        else:
            self.context.forward_to(self._default, record)


@dataclass(frozen=True)
class _Branching(Generic[K, V]):
    name: str
    branches: tuple[tuple[str, Callable[[K, V], bool]], ...]
    default: str | None

    def __call__(self) -> Branch[K, V]:
        return Branch(self.name, dict(self.branches), self.default)

    @property
    def column_form(self) -> NodeForm:
        any_tree = any(isinstance(test, TreeFunction) for _, test in self.branches)
        return NodeForm(
            (Need.COLUMNS | Need.DECODED,),
            self._by_columns,
            follower=True,
            over_records=self._computed if any_tree else None,
        )

    def _by_columns(self, rows: Input) -> ColumnProcessor:
        return entered(BranchColumns(self._children(self.branches)), rows)

    def _computed(self, source: ColumnSource) -> RecordColumns | Reason:
        found: list[tuple[str, Computation]] = []
        branches: Sequence[tuple[str, object]] = self.branches
        for label, test in branches:
            if not isinstance(test, TreeFunction):
                return f"the predicate of branch {label!r} is not a columns(...)"
            computation = test.records_computation(source.key, source.value)
            if isinstance(computation, Reason):
                return computation
            found.append((label, computation))
        return ComputedBranch(self._children(found), source)

    def _children(self, tests: Iterable[tuple[str, T]]) -> Branches[T]:
        name, default = self.name, self.default
        return Branches(
            tuple((f"{name}.{label}", test) for label, test in tests),
            None if default is None else f"{name}.{default}",
        )
