"""Run a case on the test driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kstreams.processors.columnar import Path
from kstreams.serde import INT64
from kstreams.state.working import StateBackend
from kstreams.testing.driver import TopologyTestDriver
from tests.conformance.case import Case, Output
from tests.conformance.topologies import build


@dataclass(frozen=True)
class Answer:
    """What a run gave: results by batch, and the count of what was dropped."""

    batches: tuple[tuple[Output, ...], ...]
    dropped: int


def run_on_driver(
    case: Case,
    *,
    cut: str,
    state: StateBackend | None = None,
    recreate: bool = True,
    path: Path = "record",
) -> Answer:
    """Run a case; processors are made anew for each batch, as Spark may."""
    built = build(case, path)
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
                    built.source.name,
                    None if row.key is None else row.key.encode(),
                    _value(case, row.value, path),
                    timestamp=row.timestamp,
                )
            driver.run()
            records = driver.read(built.sink)
            batches.append(tuple((str(r.key), _text(case, r.value), r.timestamp) for r in records))
        return Answer(tuple(batches), sum(driver.dropped.values()))


def _value(case: Case, value: str | None, path: Path) -> bytes | None:
    if value is None or path != "vector":
        return None if value is None else value.encode()
    return INT64.serialize(1 << _letters(case).index(value))


def _text(case: Case, value: Any) -> str | None:
    """Return the letters that a sum of powers of two stands for."""
    if not isinstance(value, int):
        text: str | None = value
        return text
    return "".join(letter for place, letter in enumerate(_letters(case)) if value >> place & 1)


def _letters(case: Case) -> list[str]:
    """Return the values of a case, which are all different."""
    return [row.value for row in case.inputs if row.value is not None]
