"""`kill -9` at each effect of an operator's command on a checkpoint.

After the kill, the next start continues, or names the next step; then the command is repeated. No
record is lost or repeated, and the data of other apps does not change.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.checkpoint.storage.object_home import ObjectHome
from kstreams.errors import CheckpointMismatchError, StateCorruptError
from tests.kill.file_system_effects import in_process, killed_at
from tests.support.apps.offline_app import (
    GONE,
    KEPT,
    LOG,
    NEW,
    OLD,
    ON_OBJECTS,
    TOPOLOGY,
    UPGRADED,
    batch,
    command,
    contents,
    lose_state,
    place,
    problems,
    published,
    start,
)

pytestmark = [pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(300)]

WITH_LOG = ("--log", "tests.support.apps.offline_app:LOG")
FIRST = {f"k{n}": n for n in range(9)}
SECOND = {"k1": 20, "new": 5}
THIRD = {"k2": 30, "newer": 6}
COMMITTED = {**FIRST, **SECOND}
RESULTS = sorted(
    (key.encode(), f"{group} {value}".encode())
    for group in ("in", "side")
    for pairs in (FIRST, SECOND)
    for key, value in pairs.items()
)
LEAST_EFFECTS = 5


@pytest.fixture(scope="module", params=["directory", "objects"])
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with two apps, which stays unchanged."""
    home = tmp_path_factory.mktemp("base")
    if request.param == "objects":
        (home / ON_OBJECTS).touch()
    in_process(home, prepare)
    return home


def prepare() -> None:
    other = start("other")
    batch(other, TOPOLOGY, {"theirs": 1})
    made = start()
    batch(made, TOPOLOGY, FIRST)
    batch(made, TOPOLOGY, SECOND)
    run("state", "savepoint", "app", "monday", *where())
    Path("before").write_text(repr(belongings("other")))


def every_kill(
    base: Path,
    tmp_path: Path,
    work: Callable[[], object],
    recover: Callable[[bool], object],
    *,
    step: int = 1,
) -> None:
    """Kill at every effect, or at some; recover with or without a start in between.

    Args:
        base: The initial directory.
        tmp_path: Directory for copies.
        work: The function to kill.
        recover: Continues afterwards, and checks the result.
        step: Distance between the effects that are tried: an odd number.
    """
    for effect in count(0, step):
        home = tmp_path / str(effect)
        shutil.copytree(base, home, symlinks=True)
        killed = killed_at(effect, home, work)
        in_process(home, partial(recovered, recover, starts_between=effect % 2 == 1))
        shutil.rmtree(home)
        if not killed:
            break
    assert effect > LEAST_EFFECTS


def recovered(recover: Callable[[bool], object], starts_between: bool) -> None:
    recover(starts_between)
    assert repr(belongings("other")) == Path("before").read_text()
    assert contents("other", KEPT) == {"theirs": 1}


def where(app: str = "app") -> tuple[str, ...]:
    """Return the options that name an app's checkpoint and its log."""
    return ("--checkpoint", place(app), *WITH_LOG)


def run(*arguments: str) -> str:
    code, said = command(*arguments)
    assert code == 0, said
    return said


def belongings(app: str) -> dict[str, bytes]:
    """Return an app's files, of its checkpoint and its durable log."""
    return {
        str(path): path.read_bytes()
        for path in sorted(Path().rglob("*"))
        if path.is_file() and any(part.split(".")[0] == app for part in path.parts)
    }


def epochs() -> set[str]:
    """Return the owners of the objects in the durable log."""
    names = (name.removeprefix("commits/").removeprefix("savepoints/") for name in all_objects())
    return {".".join(name.split("/")[0].split(".")[:2]) for name in names}


def all_objects() -> Iterator[str]:
    return LOG.open().list("")


def epoch(app: str) -> str:
    return f"{app}.{Checkpoint.load(home_of(place(app))).checkpoint_id}"


# ---------------------------------------------------------------- an upgrade


@pytest.mark.long
def test_upgrade_killed_at_any_side_effect_can_be_repeated(base: Path, tmp_path: Path) -> None:
    every_kill(base, tmp_path, partial(start, upgraded=True), after_upgrade, step=23)


def after_upgrade(starts_between: bool) -> None:
    if starts_between:
        with suppress(CheckpointMismatchError):  # the upgrade is complete
            start()
            assert contents("app", OLD) == contents("app", GONE) == COMMITTED
    made = start(upgraded=True)
    assert contents("app", KEPT) == contents("app", NEW) == COMMITTED
    assert results() == RESULTS
    assert problems("app") == {}
    batch(made, UPGRADED, THIRD)
    assert contents("app", KEPT) == contents("app", NEW) == {**COMMITTED, **THIRD}
    assert start(upgraded=True) == made
    assert problems("app") == {}


def results() -> list[tuple[bytes | None, bytes | None]]:
    return [(key, value) for key, value in published() if key != b"theirs"]


# ---------------------------------------------------------------- a fork


def fork() -> tuple[str, ...]:
    source = f"{place('app')}@monday"
    return ("state", "fork", source, "copy", *where("copy"), "--source-log", WITH_LOG[1])


def run_fork() -> None:
    run(*fork())


@pytest.mark.long
def test_fork_command_killed_at_any_side_effect_can_be_repeated(base: Path, tmp_path: Path) -> None:
    every_kill(base, tmp_path, run_fork, after_fork_by_command, step=19)


@pytest.mark.long
def test_app_start_with_fork_can_be_repeated_after_kill_at_any_side_effect(
    base: Path, tmp_path: Path
) -> None:
    every_kill(
        base, tmp_path, partial(start, "copy", fork="monday"), after_fork_by_a_start, step=19
    )


def after_fork_by_command(starts_between: bool) -> None:
    if starts_between:
        start_of_half_a_fork()
    code, said = command(*fork())
    assert code == 0 or said.startswith("SavepointError: there is a checkpoint at"), said
    check_fork()


def after_fork_by_a_start(starts_between: bool) -> None:
    if starts_between:
        start_of_half_a_fork()
    start("copy", fork="monday")
    check_fork()


def start_of_half_a_fork() -> None:
    """Check that an app does not start empty on a half-made fork."""
    home = home_of(place("copy"))
    if home.stamp() or home.fork_note():
        with suppress(StateCorruptError):
            assert start("copy").origin.endswith("@monday")


def check_fork() -> None:
    for app in ("app", "copy"):
        for spec in (KEPT, OLD, GONE):
            assert contents(app, spec) == COMMITTED
        assert problems(app) == {}
    assert epochs() == {epoch("app"), epoch("copy"), epoch("other")}
    batch(start("copy"), TOPOLOGY, THIRD)
    assert contents("copy", KEPT) == {**COMMITTED, **THIRD}
    assert contents("app", KEPT) == COMMITTED
    batch(start("app"), TOPOLOGY, {})
    assert results() == RESULTS


# ---------------------------------------------------------------- a reset


def reset() -> tuple[str, ...]:
    return ("reset", "app", *where(), "--state-dir", "local", "--yes")


def run_reset() -> None:
    run(*reset())


@pytest.mark.long
def test_reset_killed_at_any_side_effect_can_be_repeated(base: Path, tmp_path: Path) -> None:
    every_kill(base, tmp_path, run_reset, after_reset, step=23)


def after_reset(starts_between: bool) -> None:
    if starts_between:
        made = start()
        for spec in (KEPT, OLD, GONE):
            assert contents("app", spec) in (COMMITTED, {})
        assert problems("app") == {}
        last = made.commits("in", LOG.open()).last()
        assert (last is None or not last.tasks) == (contents("app", KEPT) == {})
    topics = results()
    code, said = command(*reset())
    assert code == 0 or said.startswith("NoCheckpointError:"), said
    assert epochs() == {epoch("other")}
    home = home_of(place("app"))
    if isinstance(home, ObjectHome):  # this fences an older driver
        assert all(name.startswith("plans/") for name in home.objects.list(""))
    else:
        assert [path.name for path in Path().iterdir() if "app" in path.name] == []
    assert [path.name for path in Path("local").iterdir()] == ["other"]
    assert results() == topics
    batch(start(), TOPOLOGY, THIRD)
    assert contents("app", KEPT) == contents("app", GONE) == THIRD


# ---------------------------------------------------------------- a restore


def restore() -> None:
    topology = "tests.support.apps.offline_app:TOPOLOGY"
    options = ("--from-changelog", "--topology", topology, "--data", "topics", "--yes")
    run("state", "restore", "app", *options, *where())


@pytest.mark.long
def test_restore_killed_at_any_side_effect_can_be_repeated(base: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(base, damaged, symlinks=True)
    in_process(damaged, lose_all)
    every_kill(damaged, tmp_path, restore, after_restore, step=23)


def lose_all() -> None:
    run("state", "savepoint", "app", "monday", "--delete", *where())
    lose_state()


def after_restore(starts_between: bool) -> None:
    if starts_between:
        start()
        with suppress(StateCorruptError):  # it is not restored
            assert contents("app", KEPT) == contents("app", OLD) == COMMITTED
        assert contents("app", GONE) == COMMITTED
    restore()
    made = start()
    for spec in (KEPT, OLD, GONE):
        assert contents("app", spec) == COMMITTED
    assert problems("app") == {}
    batch(made, TOPOLOGY, THIRD)
    assert results() == RESULTS
    for spec in (KEPT, OLD, GONE):
        assert contents("app", spec) == {**COMMITTED, **THIRD}


# ---------------------------------------------------------------- a savepoint


def savepoint() -> tuple[str, ...]:
    return ("state", "savepoint", "app", "tuesday", *where())


def run_savepoint() -> None:
    run(*savepoint())


@pytest.mark.long
def test_savepoint_killed_at_any_side_effect_can_be_repeated(base: Path, tmp_path: Path) -> None:
    every_kill(base, tmp_path, run_savepoint, after_savepoint)


def after_savepoint(starts_between: bool) -> None:
    if starts_between:
        batch(start(), TOPOLOGY, {})
    code, said = command(*savepoint())
    assert code == 0 or said.startswith("SavepointError: there is a savepoint 'tuesday'"), said
    assert problems("app") == {}
    start("copy", fork="tuesday")
    for spec in (KEPT, OLD, GONE):
        assert contents("copy", spec) == COMMITTED
    assert problems("copy") == {}
