"""Every window case passes on the driver, with every store and cut; tests of the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest

from devtools.servers.s3 import Bucket
from kstreams.processors.columns import Execution
from tests.conformance.__main__ import backend, by_input, main
from tests.conformance.restoring_backend import DurableState
from tests.support.conformance.case import JOINS, Case, Input, parse, read_cases
from tests.support.conformance.driver_engine import Answer, run_on_driver
from tests.support.conformance.result_check import problem

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("*.jsonl"))
CASES = [case for case in read_cases(FILES) if not case.is_join]
KINDS = sorted({(case.op, case.emit) for case in CASES})
CUTS = ("1", "3", "all")
EXECUTIONS: tuple[Execution, ...] = ("records", "columns")


def of_kind(op: str, emit: str) -> list[Case]:
    return [case for case in CASES if (case.op, case.emit) == (op, emit)]


def test_case_files_have_all_window_cases() -> None:
    assert len(CASES) == 504
    assert {len(of_kind(*kind)) >= 36 for kind in KINDS} == {True}
    assert len(KINDS) == 12


@pytest.mark.long
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(("op", "emit"), KINDS)
def test_all_window_cases_pass_in_memory(op: str, emit: str, cut: str) -> None:
    wrong = {
        case.name: found
        for case in of_kind(op, emit)
        if (found := problem(case, run_on_driver(case, cut=cut), cut=cut))
    }
    assert wrong == {}


@pytest.mark.long
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(("op", "emit"), KINDS)
def test_window_cases_pass_by_columns(op: str, emit: str, cut: str) -> None:
    wrong = {
        case.name: found
        for case in of_kind(op, emit)
        if (found := problem(case, run_on_driver(case, cut=cut, execution="columns"), cut=cut))
    }
    assert wrong == {}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(("op", "emit"), KINDS)
def test_sample_of_window_cases_passes_on_rocksdb(op: str, emit: str, cut: str) -> None:
    state = backend("rocksdb")
    for case in of_kind(op, emit)[::12]:
        assert problem(case, run_on_driver(case, cut=cut, state=state), cut=cut) is None


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_sample_of_window_cases_passes_when_each_batch_restores_from_s3(
    bucket: Bucket, execution: Execution
) -> None:
    state = DurableState(bucket.settings(f"conformance-{execution}"))
    for kind in KINDS:
        for case in of_kind(*kind)[7::24]:
            found = run_on_driver(case, cut="3", state=state, execution=execution)
            assert problem(case, found, cut="3") is None
    assert bucket.keys(f"conformance-{execution}/")


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("half", [0, 1])
def test_all_window_cases_pass_on_rocksdb(half: int) -> None:
    """Run the cases at one cut; `make conformance` runs them at each."""
    state = backend("rocksdb")
    wrong = [
        case.name
        for case in CASES[half::2]
        if problem(case, run_on_driver(case, cut="3", state=state), cut="3")
    ]
    assert wrong == []


@pytest.mark.parametrize(("op", "emit"), KINDS)
def test_window_cases_pass_with_processors_kept_between_batches(op: str, emit: str) -> None:
    for case in of_kind(op, emit)[::12]:
        assert problem(case, run_on_driver(case, cut="1", recreate=False), cut="1") is None


# Null keys and null values, which the case files do not have.


def with_nulls(case: Case) -> Case:
    """Add records with null keys and all times; they change no result."""
    inputs: list[Input] = []
    for row in case.inputs:
        inputs += [Input("in", None, "n", row.timestamp + 7), row]
    return replace(case, inputs=tuple(inputs), expected=None)


@pytest.mark.parametrize(("op", "emit"), KINDS)
def test_null_keys_are_dropped_and_change_no_result(op: str, emit: str) -> None:
    for case in of_kind(op, emit)[::18]:
        plain = run_on_driver(case, cut="1")
        nulls = run_on_driver(with_nulls(case), cut="1")
        assert nulls.batches[1::2] == plain.batches
        assert not any(nulls.batches[::2])
        assert nulls.dropped == plain.dropped + len(case.inputs)


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize(
    ("op", "options", "expected"),
    [
        ("tumbling", {"size": 10}, [("k@0/10", "a", 0), ("k@0/10", "anull", 1)]),
        ("hopping", {"size": 10, "advance": 10}, [("k@0/10", "a", 0), ("k@0/10", "anull", 1)]),
        ("session", {"gap": 5}, [("k@0/0", "a", 0), ("k@0/0", None, 0), ("k@0/1", "anull", 1)]),
        ("sliding", {"diff": 10}, [("k@0/10", "a", 0)]),
    ],
)
def test_null_values_reach_the_aggregator_except_with_sliding_windows(
    op: str, options: dict[str, int], expected: list[Any], execution: Execution
) -> None:
    inputs = [["in", "k", "a", 0], ["in", "k", None, 1]]
    case = parse({"name": "n", "op": op, "emit": "update", "in": inputs, **options})
    answer = run_on_driver(case, cut="all", execution=execution)
    assert list(answer.batches[0]) == expected
    assert answer.dropped == (1 if op == "sliding" else 0)


# The runner.


def window_lines() -> list[dict[str, Any]]:
    lines = map(json.loads, FILES[0].read_text().splitlines())
    return [line for line in lines if line["op"] not in JOINS]


def test_check_of_window_case_reports_wrong_or_incomplete_answer() -> None:
    case = of_kind("tumbling", "update")[0]
    answer = run_on_driver(case, cut="1")
    assert problem(case, answer, cut="1") is None
    assert problem(case, replace(answer, dropped=answer.dropped + 1), cut="1") is not None
    less = Answer((*answer.batches[:-1], ()), answer.dropped)
    assert problem(case, less, cut="1") is not None


def test_answer_command_adds_answers_to_case_file_without_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = window_lines()
    for line in lines:
        for name in ("out", "rule_out", "dropped"):
            line.pop(name, None)
    stripped, out = tmp_path / "stripped.jsonl", tmp_path / "out.jsonl"
    stripped.write_text("\n".join(map(json.dumps, lines)))
    assert main([str(stripped), "--out", str(out)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("0 passed, 0 failed, 22 without an answer: ")
    assert last.endswith(" and 12 more")
    answers = {line["name"]: line for line in map(json.loads, out.read_text().splitlines())}
    for case in read_cases(FILES[:1]):
        if not case.is_join:
            found = answers[case.name]
            answer = Answer(tuple(tuple(map(tuple, step)) for step in found["out"]), 0)
            assert problem(case, answer, cut="1") is None


def test_conformance_command_counts_and_names_cases_without_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    some = window_lines()[:3]
    for part in ("out", "rule_out", "dropped"):
        some[1].pop(part, None)
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(map(json.dumps, some)))
    assert main([str(file)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"2 passed, 0 failed, 1 without an answer: {some[1]['name']}"


def test_results_of_a_batch_are_assigned_to_its_last_input_record() -> None:
    case = of_kind("tumbling", "update")[0]
    lists = by_input(case, run_on_driver(case, cut="3"), "3")
    assert [bool(results) for results in lists[:6]] == [False, False, True] * 2


@pytest.mark.long
def test_conformance_command_passes_window_cases_by_columns_on_s3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "windows.jsonl"
    file.write_text("\n".join(map(json.dumps, window_lines())))
    assert main([str(file), "--execution", "columns", "--store", "s3", "--cut", "all"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "22 passed, 0 failed"


def test_window_case_that_cannot_run_by_columns_fails_without_fallback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The case does not fall back to records: a key has more records than a sum has bits."""
    inputs = [["in", "k", "a", 0]] * 63
    case = {"name": "long", "op": "tumbling", "emit": "update", "size": 10, "in": inputs}
    assert run_one(case, "columns") == 1
    assert "FAILED long: ValueError: case long: a key has more than 62" in capsys.readouterr().out
    assert run_one(case, "records") == 0


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ({"op": "zip_join"}, "unknown operation 'zip_join', expected tumbling or hopping or "),
        ({"op": "st_join", "how": "outer"}, "st_join has no 'outer', expected inner or left"),
        ({"op": "tt_join", "in": [["in", "k", "a", 0]]}, "reads left and right, not 'in'"),
        ({"op": "st_join", "grace": 5}, "a grace needs a versioned table"),
    ],
)
def test_case_with_unknown_operation_or_option_is_refused_with_its_name(
    case: dict[str, Any], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = [["left", "k", "a", 0]]
    assert run_one({"name": "n", "in": inputs, "out": [[]], **case}, "records") == 1
    assert f"FAILED n: ValueError: case n: {expected}" in capsys.readouterr().out.replace(
        "tt_join reads", "reads"
    )


def run_one(case: dict[str, Any], execution: str) -> int:
    with NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write(json.dumps(case))
        file.flush()
        return main([file.name, "--execution", execution])
