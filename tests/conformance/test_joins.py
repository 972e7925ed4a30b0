"""Every join case passes on the driver, with every store and cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from devtools.servers.s3 import Bucket
from kstreams.errors import TopologyError
from tests.conformance.__main__ import backend
from tests.conformance.restoring_backend import DurableState
from tests.support.conformance.case import Case, read_cases
from tests.support.conformance.driver_engine import run_on_driver
from tests.support.conformance.result_check import problem

FILES = sorted((Path(__file__).parent / "data").glob("*.jsonl"))
CUTS = ("1", "3", "all")


def kind(case: Case) -> str:
    parts = (case.op, case.how, *(name for name in ("versioned", "grace") if name in case.options))
    return "-".join(parts if case.op == "st_join" else parts[:2])


CASES = [case for case in read_cases(FILES) if case.is_join]
KINDS = sorted(set(map(kind, CASES)))
BY_COLUMNS = [wanted for wanted in KINDS if wanted.startswith(("ss_join", "st_join"))]


def of_kind(wanted: str) -> list[Case]:
    return [case for case in CASES if kind(case) == wanted]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("wanted", KINDS)
def test_sample_of_join_cases_passes_in_memory(wanted: str, cut: str) -> None:
    wrong = {
        case.name: found
        for case in of_kind(wanted)[::12]
        if (found := problem(case, run_on_driver(case, cut=cut), cut=cut))
    }
    assert wrong == {}


def test_case_files_have_join_cases_of_every_kind() -> None:
    assert len(CASES) == 840
    assert len(KINDS) == 14


@pytest.mark.long
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("wanted", BY_COLUMNS)
def test_sample_of_join_cases_passes_by_columns(wanted: str, cut: str) -> None:
    wrong = {
        case.name: found
        for case in of_kind(wanted)[::3]
        if (found := problem(case, run_on_driver(case, cut=cut, execution="columns"), cut=cut))
    }
    assert wrong == {}


@pytest.mark.parametrize("wanted", sorted({*KINDS} - {*BY_COLUMNS}))
def test_join_case_without_execution_by_columns_raises_if_columns_are_requested(
    wanted: str,
) -> None:
    with pytest.raises((ValueError, TopologyError)):
        run_on_driver(of_kind(wanted)[0], cut="1", execution="columns")


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("wanted", KINDS)
def test_sample_of_join_cases_passes_on_rocksdb(wanted: str, cut: str) -> None:
    state = backend("rocksdb")
    for case in of_kind(wanted)[2::28]:
        assert problem(case, run_on_driver(case, cut=cut, state=state), cut=cut) is None


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize(("cut", "store"), [("1", "memory"), ("3", "rocksdb"), ("all", "memory")])
def test_all_join_cases_pass_on_both_backends(cut: str, store: str, half: int) -> None:
    """Run each cut on one backend; `make conformance` runs RocksDB at each."""
    state = backend(store) if store == "rocksdb" else None
    wrong = [
        case.name
        for case in CASES[half::2]
        if problem(case, run_on_driver(case, cut=cut, state=state), cut=cut)
    ]
    assert wrong == []


@pytest.mark.long
@pytest.mark.slow
def test_sample_of_join_cases_passes_when_each_batch_restores_from_s3(bucket: Bucket) -> None:
    state = DurableState(bucket.settings("joins"))
    for wanted in KINDS:
        for case in of_kind(wanted)[3::28]:
            assert problem(case, run_on_driver(case, cut="3", state=state), cut="3") is None
    assert bucket.keys("joins/")


@pytest.mark.parametrize("wanted", KINDS)
def test_join_cases_pass_with_processors_kept_between_batches(wanted: str) -> None:
    for case in of_kind(wanted)[4::14]:
        assert problem(case, run_on_driver(case, cut="1", recreate=False), cut="1") is None


@pytest.mark.parametrize("wanted", KINDS)
def test_check_of_join_case_reports_incomplete_answer(wanted: str) -> None:
    case = next(case for case in of_kind(wanted) if any(case.expected or ()))
    for cut in CUTS:
        answer = run_on_driver(case, cut=cut)
        less = replace(answer, batches=tuple(batch[1:] for batch in answer.batches))
        assert problem(case, answer, cut=cut) is None
        assert problem(case, less, cut=cut) is not None
