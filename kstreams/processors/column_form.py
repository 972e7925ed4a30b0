"""The column form of a node: the interface between suppliers and the planner of executions.

A supplier whose node can run by columns has a property `column_form`. It states, as data, the rows
that each input of the node accepts and the rows that the node forwards; `build` creates the
processor. The planner (`kstreams.graph.execution`) compares these needs with the neighboring nodes,
and does not depend on any supplier. A new operator, aggregation or join adds this property, and
needs no change of the planner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import Protocol, TypeAlias, runtime_checkable

from kstreams.processors.columns import (
    ColumnProcessor,
    ColumnSource,
    Execution,
    RecordColumns,
)

__all__ = ("ColumnSupplier", "Input", "Need", "NodeForm", "Output", "Reason", "column_form_of")

Reason: TypeAlias = str
"""The reason why a node cannot run by columns. Empty for nodes without a column form."""


class Need(Flag):
    """The kinds of rows that an input of a node accepts; flags can be combined.

    Attributes:
        RECORDS: Encoded records of parents that are sources or repartition edges.
        DECODED: Decoded records of such parents, if all nodes downstream of the node accept
            columns.
        COLUMNS: Tables of a parent that is a column processor.
        RESULTS: Tables of a parent that is an aggregation, if all children of the node are edges
            and topics.
        BATCH_END: Records of a parent that forwards only when the batch ends.
        CHANGES: Changes of a table that runs by columns. With `ROWS`, the node also reads rows of
            the table.
        ROWS: No rows: the node looks up rows of its parent table, which runs by columns.
    """

    RECORDS = auto()
    DECODED = auto()
    COLUMNS = auto()
    RESULTS = auto()
    BATCH_END = auto()
    CHANGES = auto()
    ROWS = auto()


class Output(Enum):
    """The kind of rows that a node forwards if it runs by columns.

    Attributes:
        RESULTS: Results of an aggregation.
        COLUMNS: Rows of any other node; children accept them by `Need.COLUMNS`.
        CHANGES: Changes of the table that the node stores.
        NOTHING: No rows: children look up rows of the table that the node stores.
    """

    RESULTS = auto()
    COLUMNS = auto()
    CHANGES = auto()
    NOTHING = auto()


@dataclass(frozen=True)
class Input:
    """The rows that an input of a node receives.

    Args:
        need: The form of the rows: of the forms that the node accepts, the one that its parents
            deliver.
        source: The serdes of the records of `Need.RECORDS` and `Need.DECODED`; None for other rows.
        punctuated: Whether a node that comes later in the order of the partition group has a
            stream-time punctuator.
    """

    need: Need
    source: ColumnSource | None = None
    punctuated: bool = False

    @property
    def records(self) -> ColumnSource:
        """Return the serdes of the records that the input receives from sources or edges.

        Raises:
            TypeError: The input receives other rows.
        """
        if self.source is None:
            raise TypeError(
                "the input of the node has no serdes: its parent is neither a source nor a "
                "repartition"
            )
        return self.source


@dataclass(frozen=True)
class NodeForm:
    """The column form of a node: its needs, its output, and the creation of its processor.

    Args:
        needs: The rows that each input accepts; a join has the left input, then the right one.
        build: Takes an `Input` for each need; returns a new column processor, or the reason why
            the node cannot run by columns.
        output: The rows that the node forwards.
        execution: The requested execution.
        follower: Whether the node is stateless, and forwards in the order of its input. Below a
            columnar node, the planner's checks for that node then also cover this node.
        at_batch_end: Whether the node forwards only when a batch ends, even if it runs by records.
        may_stop: Whether the node, if it runs by records, may stop the task at a record. If so,
            neither the node nor an operator above it accepts decoded records.
        is_view: Whether the node derives a table without storing rows: lookups read the rows of its
            parent table.
        over_records: Returns a processor that takes records with the given serdes as they come
            from a source, and forwards records alike, or the reason why there is none. The planner
            prefers it to `build`. None for most nodes.
        passes_all: Whether the node forwards all rows unchanged, without a function of the user.
        looked_up: The form that replaces this form if children look up rows of the node's table,
            or if the table has no readers; None if this form also applies then.
    """

    needs: tuple[Need, ...]
    build: Callable[..., ColumnProcessor | Reason]
    output: Output = Output.COLUMNS
    execution: Execution = "auto"
    follower: bool = False
    at_batch_end: bool = False
    may_stop: bool = False
    is_view: bool = False
    over_records: Callable[[ColumnSource], RecordColumns | Reason] | None = None
    passes_all: bool = False
    looked_up: NodeForm | None = None

    @property
    def takes_columns(self) -> bool:
        """Whether all inputs accept tables of column processors."""
        return all(need & (Need.COLUMNS | Need.CHANGES) for need in self.needs)

    @property
    def takes_changes(self) -> bool:
        """Whether an input accepts only the changes of a table."""
        return any(Need.CHANGES in need for need in self.needs)

    @property
    def looks_up(self) -> bool:
        """Whether the node looks up rows of a table without receiving its changes."""
        return Need.ROWS in self.needs


@runtime_checkable
class ColumnSupplier(Protocol):
    """A supplier of record processors that also has a column form."""

    @property
    def column_form(self) -> NodeForm:
        """Return the column form of the node."""
        ...


def column_form_of(supplier: object) -> NodeForm | None:
    """Return the column form of a supplier's node; None for a class or function without one."""
    if isinstance(supplier, type) or not isinstance(supplier, ColumnSupplier):
        return None
    return supplier.column_form
