"""Run a conformance case on the test driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kstreams.processors.columns import Execution
from kstreams.state.backend.working import StateBackend
from kstreams.windows import Windowed
from kstreams_testing.driver import TopologyTestDriver
from tests.support.conformance.case import Case, Output
from tests.support.conformance.numbered_values import NumberedValues
from tests.support.conformance.window_topologies import build, drops_nulls


@dataclass(frozen=True)
class Answer:
    """Results of a run by batch, and the number of dropped records."""

    batches: tuple[tuple[Output, ...], ...]
    dropped: int


def run_on_driver(
    case: Case,
    *,
    cut: str,
    state: StateBackend | None = None,
    recreate: bool = True,
    execution: Execution = "records",
) -> Answer:
    """Run a case; create the processors again for each batch, as Spark may."""
    built = build(case, execution)
    letters = NumberedValues(case, execution, drops_nulls=drops_nulls(case))
    batches: list[tuple[Output, ...]] = []
    driver = TopologyTestDriver(
        built.topology,
        state=state,
        recreate_processors=recreate,
    )
    with driver:
        for batch in case.batches(cut):
            for place in batch:
                row = case.inputs[place]
                driver.write_bytes(
                    row.topic,
                    None if row.key is None else row.key.encode(),
                    letters.encoded(place),
                    timestamp=row.timestamp,
                )
            driver.run()
            batches.append(
                tuple(
                    result_of(letters, r.key, r.value, r.timestamp) for r in driver.read(built.sink)
                )
            )
        return Answer(tuple(batches), sum(driver.dropped.values()))


def result_of(letters: NumberedValues, key: Any, value: Any, timestamp: int) -> Output:
    """Return a result with its numbers decoded to letters, and with its window as text."""
    if isinstance(key, Windowed):
        return str(key), letters.text(key.key, value), timestamp
    return key, value, timestamp
