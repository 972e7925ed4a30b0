"""The planner takes the column form of any supplier: these are defined in this module alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from kstreams import INT64, TEXT, Processor, Record, Topic, TopologyBuilder, filter_
from kstreams.errors import TopologyError
from kstreams.processors.column_form import Input, Need, NodeForm, Output, column_form_of
from kstreams.processors.columns import ColumnProcessor, Execution
from kstreams.topology import to_stdout
from tests.kstreams.graph.execution.test_execution import execution

CLICKS = Topic("clicks", TEXT, INT64)


class _ByRecords(Processor[str, int, str, int]):
    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record)


class _ByColumns(ColumnProcessor):
    @property
    def reads_values(self) -> bool:
        return True

    def process_batch(self, table: pa.Table) -> None:
        self.context.forward(table)


@dataclass(frozen=True)
class _Passing:
    """A supplier of processors that forward their input."""

    need: Need
    output: Output = Output.COLUMNS
    execution: Execution = "auto"
    reason: str = ""

    def __call__(self) -> _ByRecords:
        return _ByRecords()

    @property
    def column_form(self) -> NodeForm:
        return NodeForm((self.need,), self._build, self.output, self.execution)

    def _build(self, rows: Input) -> Any:
        return self.reason or _ByColumns()


def chain(*suppliers: Any) -> TopologyBuilder:
    """Return nodes `n0`, `n1` and so on, each below the one before, and a sink below the last."""
    builder = TopologyBuilder("t")
    node: Any = builder.add_source("clicks", CLICKS)
    for place, supplier in enumerate(suppliers):
        node = builder.add_processor(f"n{place}", supplier, node)
    builder.add_sink("out", to_stdout(), node)
    return builder


def test_column_form_that_needs_source_records_runs_by_columns_after_source() -> None:
    assert execution(chain(_Passing(Need.RECORDS)).build(), "n0") == "columns"


def test_node_with_reason_against_columns_runs_by_records_and_describe_shows_reason() -> None:
    topology = chain(_Passing(Need.RECORDS, reason="it is no weather for columns")).build()
    assert execution(topology, "n0") == "records (it is no weather for columns)"


def test_column_form_that_needs_columns_runs_by_columns_after_node_that_outputs_columns() -> None:
    topology = chain(_Passing(Need.RECORDS), _Passing(Need.COLUMNS)).build()
    assert execution(topology, "n1") == "columns"


@pytest.mark.parametrize("above", [_ByRecords, _Passing(Need.RECORDS, Output.RESULTS)])
def test_column_form_that_needs_columns_has_no_execution_after_other_nodes(above: Any) -> None:
    assert execution(chain(above, _Passing(Need.COLUMNS)).build(), "n1") is None


def test_column_form_that_accepts_records_or_columns_uses_output_of_its_parent() -> None:
    either = Need.RECORDS | Need.COLUMNS
    topology = chain(_Passing(either), _Passing(either)).build()
    assert [execution(topology, name) for name in ("n0", "n1")] == ["columns", "columns"]
    reason = "records (it is below processor 'n0', rather than directly below a source)"
    assert execution(chain(_ByRecords, _Passing(either)).build(), "n1") == reason


def test_operator_after_column_form_with_output_results_runs_by_columns() -> None:
    builder = TopologyBuilder("t")
    node: Any = builder.add_source("clicks", CLICKS)
    node = builder.add_processor("n0", _Passing(Need.RECORDS, Output.RESULTS), node)
    kept = builder.add_processor("n1", filter_(lambda key, value: True), node)
    builder.add_sink("out", Topic("out", TEXT, INT64), kept)
    assert execution(builder.build(), "n1") == "columns"


def test_build_rejects_columns_for_node_that_needs_source_records_after_processor() -> None:
    builder = chain(_ByRecords, _Passing(Need.RECORDS, execution="columns"))
    with pytest.raises(TopologyError) as caught:
        builder.build()
    (problem,) = caught.value.problems
    assert problem.startswith("node 'n1' cannot run by columns: it is below processor 'n0'")


def test_column_form_of_plain_class_or_function_is_none() -> None:
    assert column_form_of(_ByRecords) is None
    assert column_form_of(lambda: _ByRecords()) is None
    assert column_form_of(_Passing) is None


def test_column_input_without_source_records_rejects_access_to_records() -> None:
    with pytest.raises(TypeError, match="the input of the node has no serdes"):
        _ = Input(Need.COLUMNS).records
