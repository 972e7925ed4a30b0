"""Records in loops between two batches survive restarts, savepoints, forks and upgrades."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kstreams import Topology
from kstreams.batch import query_driver
from kstreams.checkpoint.savepoint.app_objects import epoch_objects, remove_leftovers
from kstreams.checkpoint.savepoint.fork import ForkSource, fork
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.upgrade import Upgrade, upgrade
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.errors import CheckpointMismatchError
from kstreams.serde import INT32
from kstreams.state import Memory
from kstreams.state.backend.task_key import loops_prefix
from kstreams.state.log.commits import Commit
from kstreams.state.log.directory import Directory
from kstreams.state.log.loop_objects import rows_by_loop
from kstreams_cli.verification import Verification
from tests.support.cli.command_line import say
from tests.support.crash.failpoints import Point
from tests.support.crash.loop_app import STEPS, VISITS, LoopHarness, visits, walking
from tests.support.crash.marking_app import KEYS, PARTITIONS, batch_of, emit

NO_POINT = Point("none", "never")


def under_way(home: Path, patch: pytest.MonkeyPatch) -> LoopHarness:
    """Return an app whose last commit names records in its loop."""
    log = Directory(str(home / "checkpoint" / "state"))
    harness = LoopHarness(
        home, Memory(directory=str(home / "local")), log, NO_POINT, "retry", patch
    )
    harness.start_driver()
    begin(harness)
    return harness


def begin(harness: LoopHarness) -> None:
    """Emit a batch, and run the first of the batches that it takes."""
    number = len(harness.input)
    records = batch_of(number)
    harness.input += records
    emit(harness.connection, records, number)
    harness.step()


def drain(harness: LoopHarness) -> None:
    while harness.behind():
        harness.step()


def last(harness: LoopHarness) -> Commit:
    found = harness.checkpoint.commits("words", harness.log.open()).last()
    assert found is not None
    return found


def loop_objects(harness: LoopHarness) -> list[str]:
    return [name for name in harness.log.open().list("") if name.endswith(".loop")]


def test_commit_lists_records_in_loop_and_end_is_reached_after_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = under_way(tmp_path, monkeypatch)
    driver = harness.query.driver
    assert rows_by_loop(last(harness).loops) == {"again": len(harness.input)}
    assert driver.planner.reached(driver.end())
    assert not driver.reached(driver.end(), 0)

    for left in range(STEPS - 1, -1, -1):
        harness.step()
        assert rows_by_loop(last(harness).loops) == ({"again": len(harness.input)} if left else {})
    assert driver.reached(driver.end(), 0)
    assert harness.visits() == visits(harness.input)


def test_records_in_loop_are_planned_without_new_input_and_count_towards_batch_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = under_way(tmp_path, monkeypatch)
    driver = harness.query.driver
    emit(harness.connection, batch_of(1), 1)

    plan = driver.next_plan(news=False)
    assert plan is not None
    assert dict(plan.tasks) == {(0, task): () for task in range(PARTITIONS)}

    driver.planner._pace.records = len(harness.input) + 10
    plan = driver.next_plan()
    assert plan is not None
    assert 0 < plan.record_count <= 10


@pytest.mark.long
def test_savepoint_keeps_records_in_loop_and_fork_continues_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_driver, "_SWEEP_EVERY", 1)
    harness = under_way(tmp_path / "first", monkeypatch)
    savepoints = Savepoints(harness.checkpoint, harness.log.open())
    savepoints.create("kept", harness.clock)
    named, count = {part.name for part in last(harness).loops}, len(harness.input)
    for _ in range(3):
        drain(harness)
        begin(harness)
    assert named <= set(loop_objects(harness))

    log = Directory(str(tmp_path / "second" / "checkpoint" / "state"))
    source = ForkSource(harness.checkpoint.home.named, "kept", log=harness.log)
    fork(source, tmp_path / "second" / "checkpoint", "crash", log=log)
    forked = LoopHarness(
        tmp_path / "second",
        Memory(directory=str(tmp_path / "second" / "local")),
        log,
        NO_POINT,
        "retry",
        monkeypatch,
    )
    forked.connection = harness.connection
    forked.start_driver()
    assert rows_by_loop(last(forked).loops) == {"again": count}
    drain(forked)  # the records in the loop, and all later ones
    assert forked.visits() == visits(harness.input)

    savepoints.delete("kept")
    drain(harness)
    for _ in range(3):
        begin(harness)
        drain(harness)
    assert not named & set(loop_objects(harness))
    assert harness.visits() == visits(harness.input)


def upgraded(
    harness: LoopHarness, topology: Topology, tasks: int = PARTITIONS, **given: Any
) -> Any:
    settings = AppSettings("crash", home_of(harness.checkpoint.home.named), state=Memory(), **given)
    wanted = Upgrade(settings, topology, {"words": tasks}, harness.log.open(), "upgrade")
    return upgrade(harness.checkpoint, wanted)


def refusal(harness: LoopHarness, topology: Topology, tasks: int = PARTITIONS) -> str:
    with pytest.raises(CheckpointMismatchError) as caught:
        upgraded(harness, topology, tasks)
    return caught.value.message


def test_upgrade_rejects_unreadable_records_in_loop_unless_drained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = under_way(tmp_path, monkeypatch)
    count = len(harness.input)

    assert (
        f"loop 'again' has {count} unprocessed records, and is no longer in the topology "
        "(first run the previous topology to its end"
    ) in refusal(harness, walking("other"))
    assert (
        f"loop 'again' has {count} unprocessed records for 2 tasks, but the loop now has 3"
    ) in refusal(harness, walking(), tasks=3)
    changed = walking()
    (loop,) = changed.groups[0].loops
    object.__setattr__(loop, "value", INT32)
    assert (
        f"{count} unprocessed records: they are encoded as text and text by murmur2, but the loop "
        "now has text and int32"
    ) in refusal(harness, changed)

    drain(harness)
    made = upgraded(harness, walking("other"))
    assert list(made.shape["words"]["loops"]) == ["other"]


def test_new_epoch_continues_with_records_in_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = under_way(tmp_path, monkeypatch)
    named = {part.name for part in last(harness).loops}
    topology = walking()
    kind = {"kind": "key-value", "key": "text", "value": "text"}
    shape: dict[str, Any] = {**harness.checkpoint.shape}
    shape["words"] = {**shape["words"], "stores": {VISITS.name: kind}}
    object.__setattr__(harness.checkpoint, "shape", shape)

    made = upgraded(harness, topology, reset=frozenset({VISITS.name}))

    assert made.epoch_numbers == {"words": 1}
    seed = made.commits("words", harness.log.open()).last()
    assert seed is not None
    assert {part.name for part in seed.loops} == named
    remove_leftovers(made, harness.log.open())
    harness.start_driver()
    drain(harness)
    walks = visits(harness.input)
    first = visits_of_first_steps(harness.input)
    assert harness.visits() == {key: walks[key] - first.get(key, 0) for key in walks}


def visits_of_first_steps(records: Iterable[tuple[str, str]]) -> dict[str, int]:
    found = dict.fromkeys(KEYS, 0)
    for key, _ in records:
        found[key] += 1
    return found


def test_cleanup_removes_loop_objects_of_old_epochs_and_reset_removes_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = under_way(tmp_path, monkeypatch)
    objects, checkpoint = harness.log.open(), harness.checkpoint
    stray = f"{loops_prefix(checkpoint.state_name('words'), 'over')}{0:020d}-aa-0.loop"
    objects.put_if_absent(stray, b"")
    kept = set(loop_objects(harness)) - {stray}

    remove_leftovers(checkpoint, objects)

    assert set(loop_objects(harness)) == kept
    assert kept <= set(epoch_objects(objects, "crash", checkpoint.checkpoint_id))


def test_command_line_lists_and_verifies_records_in_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = under_way(tmp_path, monkeypatch)
    where = ("--checkpoint", str(harness.checkpoint.home.named))

    lines = [line.split() for line in say("state", "list", "crash", *where).splitlines()]
    assert ["again", "words", str(len(harness.input)), "0"] in lines

    checked = Verification(harness.checkpoint, harness.log.open())
    (part,) = checked.parts()
    assert checked.problems == {}
    names = {each.name for each in last(harness).loops}
    assert part.objects == len(set(last(harness).objects()))
    harness.log.open().delete(names)
    broken = Verification(harness.checkpoint, harness.log.open())
    assert list(broken.parts())
    assert set(broken.problems) == names
