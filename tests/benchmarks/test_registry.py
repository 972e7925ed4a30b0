"""Workloads and peers are found by name, and each peer reports which workloads it cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.suite.registry import (
    UnknownName,
    all_peers,
    all_workloads,
    peer_by,
    workload_by,
)
from benchmarks.suite.workload import Workload


def test_workloads_are_listed_in_order() -> None:
    names = [workload.name for workload in all_workloads()]
    assert names == [
        *("W1", "W1R", "W1RR", "W2", "W3", "W4", "W5", "W6", "W6o", "W7"),
        *("Q1", "Q2", "Q3", "Q5", "Q7", "Q8", "Q11", "Q12", "Q20"),
    ]


def test_all_peers_begins_with_kstreams_and_has_unique_names() -> None:
    names = [peer.name for peer in all_peers()]
    assert names[0] == "kstreams"
    assert len(set(names)) == len(names)


def test_each_peer_accepts_some_workloads_and_gives_a_reason_for_each_other() -> None:
    for peer in all_peers():
        refusals = [peer.refusal(workload) for workload in all_workloads()]
        assert None in refusals
        assert "" not in refusals


@pytest.mark.parametrize("workload", all_workloads(), ids=lambda w: w.name)
def test_library_accepts_every_workload(workload: Workload) -> None:
    assert workload.topology is not None
    topics = [f"in-{number}" for number in range(len(workload.datasets))]
    assert workload.topology(*topics, "out", "auto").groups
    assert len(workload.expected(*workload.tables(3_000))) > 0
    assert peer_by("kstreams").refusal(workload) is None


@pytest.mark.parametrize("find", [workload_by, peer_by])
def test_unknown_peer_or_workload_is_refused_with_list_of_known_names(find: object) -> None:
    with pytest.raises(UnknownName, match=r"there are: (W1|kstreams) "):
        find("nothing")  # type: ignore[operator]


def test_workload_of_the_user_is_loaded_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("from benchmarks.workloads.w1 import WORKLOAD\n")
    assert workload_by(str(file)) == workload_by("W1")
    file.write_text("")
    with pytest.raises(UnknownName, match="has no WORKLOAD"):
        workload_by(str(file))
    with pytest.raises(UnknownName, match="there is no file"):
        workload_by(str(tmp_path / "none.py"))
