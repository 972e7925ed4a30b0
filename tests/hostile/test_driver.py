"""With `skip` or `dead-letter`, no bad record ends the app, and each record is accounted for.

With `fail`, the app ends with a typed error that names the record's position, and nothing of the
batch is kept.
"""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kstreams import DeadLetter
from kstreams.errors import KStreamsError
from kstreams.processors.columns import Execution
from kstreams.topology import OnError
from kstreams_testing.driver import TopologyTestDriver
from tests.hostile.driver_runs import Run, driver_of, write
from tests.support.hostile.failing_processor import BAD
from tests.support.hostile.record_accounting import LETTERS, check_windows
from tests.support.hostile.records import ordered, stream_of
from tests.support.hostile.topologies import (
    EMISSIONS,
    IN,
    OUT,
    STORES,
    WINDOWS,
    of_store,
    of_windows,
)

POLICIES: dict[str, OnError] = {"skip": "skip", "dead-letter": DeadLetter(LETTERS)}
SHAPES = [(kind, emission) for kind in WINDOWS for emission in EMISSIONS]
SHAPES.remove(("unlimited", "on-close"))  # it has no final result

seeds = st.integers(0, 1 << 32)
phases = (Phase.generate,)  # a smaller seed does not give a simpler stream

policies = pytest.mark.parametrize("policy", POLICIES)


@policies
@pytest.mark.parametrize(("kind", "emission"), SHAPES)
@given(seed=seeds)
@settings(max_examples=2, phases=phases)
def test_window_counts_equal_forwarded_records_and_no_record_is_unaccounted_for(
    kind: str, emission: str, policy: str, seed: int
) -> None:
    run = Run(of_windows(kind, emission, POLICIES[policy]), stream_of(seed))
    run.account.check(policy=policy)
    check_windows(kind, run.account, run.counts(kind))


@pytest.mark.long
@policies
@pytest.mark.parametrize("kind", STORES)
@given(seed=seeds)
@settings(max_examples=4, phases=phases)
def test_stores_have_no_changes_of_failed_records_and_no_record_is_unaccounted_for(
    kind: str, policy: str, seed: int
) -> None:
    Run(of_store(kind, POLICIES[policy]), stream_of(seed)).account.check(policy=policy)


@pytest.mark.parametrize("kind", STORES)
@given(seed=seeds)
@settings(max_examples=4, phases=phases)
def test_policy_fail_raises_typed_error_with_position_and_writes_no_output(
    kind: str, seed: int
) -> None:
    with driver_of(of_store(kind, "fail")) as driver:
        for number, record in enumerate(record for batch in stream_of(seed) for record in batch):
            write(driver, record, number)
            error = failure_of(driver)
            if error is None:
                assert record.fate != "bad" or record.odd_time
                assert len(driver.read_rows(OUT.name)) <= 1
            else:
                assert record.fate == "bad" or record.odd_time
                check_place(error)
                assert driver.read_rows(OUT.name) == []
                return


def failure_of(driver: TopologyTestDriver) -> KStreamsError | None:
    try:
        driver.run()
    except KStreamsError as exc:
        return exc
    return None


def check_place(error: KStreamsError) -> None:
    """Assert that an error has the record's position, and a text that is short and valid UTF-8."""
    where = error.where
    assert where.group == "in"
    assert where.topic in (IN.name, OUT.name)
    assert None not in (where.node, where.partition, where.offset)
    assert len(str(error).encode()) < 50_000


@pytest.mark.parametrize("emission", ["once-per-batch", "on-close"])
@pytest.mark.parametrize("kind", WINDOWS)
@given(seed=seeds, odd_times=st.booleans())
@settings(max_examples=4, phases=phases)
def test_columns_and_records_give_the_same_result_or_the_same_error(
    kind: str, emission: str, seed: int, odd_times: bool
) -> None:
    batches = stream_of(seed, odd_times=odd_times)
    stream = [[record for record in batch if record.fate != "bad"] for batch in batches]
    executions: tuple[Execution, ...] = ("columns", "records")
    made: list[object] = []
    for execution in executions:
        topology = of_windows(kind, emission, "fail", obeyed=False, execution=execution)
        try:
            run = Run(topology, stream)
        except KStreamsError as exc:
            made.append((type(exc), exc.where.partition, exc.where.offset))
        else:
            made.append((sorted(map(repr, run.counts(kind))), run.account.dropped))
    assert made[0] == made[1]


@policies
@pytest.mark.parametrize("order", BAD)
def test_exception_of_processor_drops_only_its_record(order: str, policy: str) -> None:
    stream = [[ordered("forward"), ordered(order), ordered("forward")]]
    account = Run(of_store("key-value", POLICIES[policy]), stream).account
    account.check(policy=policy)
    assert len(account.out) == 2
