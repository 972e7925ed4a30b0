"""Joins equal their models for any input, order, partitioning and batching."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from kstreams.partitioner import partition_of
from kstreams.processors.columns import Execution
from kstreams.testing import TopologyTestDriver
from tests.support.conformance.case import Case, Input, Output, parse
from tests.support.conformance.window_topologies import Built, build
from tests.support.models.join_models import ForeignKeyModel, merged, model_of

_TIMES = st.integers(0, 40)
_OPTIONS: dict[str, dict[str, Any]] = {
    "ss_join": {
        "before": st.integers(0, 9),
        "after": st.integers(0, 9),
        "grace": st.integers(0, 9),
    },
    "tt_join": {},
    "st_join": {},
    "st_join-versioned": {"versioned": st.integers(0, 30)},
    "st_join-grace": {"versioned": st.integers(9, 30), "grace": st.integers(0, 9)},
    "fk_join": {},
}


@st.composite
def runs(draw: Any, kind: str) -> tuple[Case, list[list[Input]], int]:
    """Draw a case, its batches and the number of partitions."""
    op = kind.split("-", maxsplit=1)[0]
    options = {name: draw(values) for name, values in _OPTIONS[kind].items()}
    hows = ("inner", "left", "outer") if op in ("ss_join", "tt_join") else ("inner", "left")
    rows = []
    for number in range(draw(st.integers(1, 25))):
        side = draw(st.sampled_from(("left", "right")))
        value: str | None = f"v{number}"
        if op == "fk_join" and side == "left" and draw(st.integers(0, 4)):
            value = f"{draw(st.sampled_from('abc'))}|{value}"
        if draw(st.integers(0, 5)) == 0:
            value = None
        rows.append([side, draw(st.sampled_from("abc")), value, draw(_TIMES)])
    case = parse(
        {"name": "drawn", "op": op, "how": draw(st.sampled_from(hows)), "in": rows, **options}
    )
    batches: list[list[Input]] = [[]]
    for row in case.inputs:
        batches[-1].append(row)
        if draw(st.integers(0, 3)) == 0:
            batches.append([])
    return case, batches, draw(st.integers(1, 4))


def results(built: Built, batches: list[list[Input]], partitions: int) -> list[list[Output]]:
    """Return the results of a topology by batch."""
    found = []
    with TopologyTestDriver(
        built.topology, partitions=partitions, recreate_processors=True
    ) as driver:
        for batch in batches:
            for row in batch:
                value = None if row.value is None else row.value.encode()
                key = None if row.key is None else row.key.encode()
                driver.write_bytes(row.topic, key, value, timestamp=row.timestamp)
            driver.run()
            found.append([(r.key, r.value, r.timestamp) for r in driver.read(built.sink)])
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "execution"),
    [
        *((kind, "records") for kind in _OPTIONS if kind != "fk_join"),
        *((kind, "columns") for kind in _OPTIONS if kind.startswith("st_join")),
    ],
)
def test_stream_join_equals_model_with_any_batches(kind: str, execution: Execution) -> None:
    @given(runs(kind))
    @settings(max_examples=25, deadline=None)
    def check(run: tuple[Case, list[list[Input]], int]) -> None:
        case, batches, partitions = run
        note(f"{case.options}, {partitions} partitions, batches of {[*map(len, batches)]}")
        models = [model_of(case) for _ in range(partitions)]
        built = build(case, execution)
        for batch, found in zip(batches, results(built, batches, partitions), strict=True):
            expected = Counter[Output]()
            for number, model in enumerate(models):
                own = [r for r in batch if partition_of(str(r.key).encode(), partitions) == number]
                for row in merged(own, model.first):
                    expected.update(model.take(row))
            assert Counter(found) == expected

    check()


@given(runs("ss_join"))
@settings(max_examples=25, deadline=None)
def test_stream_join_forwards_each_record_in_pairs_or_unmatched_once(
    run: tuple[Case, list[list[Input]], int],
) -> None:
    case, batches, partitions = run
    paired, alone = Counter[str](), Counter[str]()
    for found in results(build(case), batches, partitions):
        for _, value, _ in found:
            sides = str(value).split("+")
            (alone if "null" in sides else paired).update(s for s in sides if s != "null")
    assert not paired.keys() & alone.keys()
    assert set(alone.values()) <= {1}


@pytest.mark.long
@given(runs("fk_join"))
@settings(max_examples=25, deadline=None)
def test_foreign_key_join_equals_join_of_tables_at_every_commit(
    run: tuple[Case, list[list[Input]], int],
) -> None:
    case, batches, partitions = run
    model, shown = ForeignKeyModel(case.how), dict[str, str]()
    for batch, found in zip(batches, results(build(case), batches, partitions), strict=True):
        for row in batch:
            model.take(row)
        for key, value, _ in found:
            if value is None:
                shown.pop(str(key), None)
            else:
                shown[str(key)] = value
        assert shown == model.table()
