"""A reset removes the checkpoint and local state of an app, and nothing of other apps."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kstreams import TEXT, TopologyBuilder
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import open_for_running
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.checkpoint.storage.lock import CheckpointLock
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.checkpoint.storage.object_home import ObjectHome
from kstreams.errors import (
    AppLockedError,
    CheckpointMismatchError,
    ExecutionError,
    InvalidNameError,
    NoCheckpointError,
)
from kstreams.sources import Lines, MoveTo, WhenRead, folder
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.directory import Directory
from kstreams.testing import RecordingSink
from kstreams_admin.reset import reset, survey


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


CHECKPOINT1, CHECKPOINT2, CHECKPOINT11 = "11ab5f1ac3d0", "22ab5f1ac3d0", "11ab5f1ac3d1"


def checkpoint(path: Path, app: str = "app", checkpoint_id: str = CHECKPOINT1) -> Path:
    (path / "queries" / "q").mkdir(parents=True)
    (path / "queries" / "q" / "plan").write_bytes(b"12345")
    (path / "app.json").write_text(json.dumps({"app": app, "incarnation": checkpoint_id}))
    return path


def local_state(root: Path, app: str = "app", checkpoint_id: str = CHECKPOINT1) -> Path:
    home = root / app / checkpoint_id / f"{app}.{checkpoint_id}.q" / "group" / "0"
    home.mkdir(parents=True)
    (home / "file").write_bytes(b"123")
    return root / app / checkpoint_id


def test_reset_removes_checkpoint_and_local_state() -> None:
    path = checkpoint(Path(".kstreams/app"))
    local_state(Path("local"))
    state = Memory(directory="local")
    found = survey("app", state=state)
    assert path.exists()
    assert [(x.path.name, x.files) for x in found.leftovers] == [("app", 3), (CHECKPOINT1, 1)]
    assert found.local[0].size_bytes == 3

    assert reset("app", state=state) == found
    assert list(Path(".kstreams").iterdir()) == []
    assert list(Path("local").iterdir()) == []


def read_files(home: CheckpointHome, when_read: WhenRead) -> None:
    """Start an app on files that are removed at commit, and on other files."""
    builder = TopologyBuilder("app")
    for log in (
        folder("lines", "in", Lines(TEXT), when_read=when_read),
        folder("kept", "kept", Lines(TEXT)),
    ):
        builder.add_sink(f"{log.name}-out", RecordingSink(), builder.add_source(log.name, log))
    tasks = {"lines": 1, "kept": 1}
    settings = AppSettings("app", home)
    open_for_running(settings, builder.build(), tasks, run="run", publish=lambda _: None)


@pytest.mark.parametrize("home", [home_of("here"), ObjectHome(Directory("there"))], ids=str)
def test_reset_reports_files_that_cannot_be_read_again(
    home: CheckpointHome, caplog: pytest.LogCaptureFixture
) -> None:
    warning = (
        "Source 'lines' does not read its committed records again: files {} when they are "
        "committed. The next run starts after these records."
    )
    read_files(home, "leave")
    assert survey("app", checkpoint=home.named).not_again == ()
    read_files(home, MoveTo("_done"))
    assert survey("app", checkpoint=home.named).not_again == (warning.format("go to '_done'"),)
    read_files(home, "delete")
    assert reset("app", checkpoint=home.named).not_again == (warning.format("are deleted"),)
    assert [record.getMessage() for record in caplog.records] == [warning.format("are deleted")]
    read_files(home, "delete")
    printed: list[str] = []
    assert reset("app", checkpoint=home.named, report=printed.append).not_again == tuple(printed)


def test_reset_keeps_local_state_of_other_checkpoints() -> None:
    checkpoint(Path("here"))
    local_state(Path("local"))
    other = local_state(Path("local"), checkpoint_id=CHECKPOINT2)
    reset("app", checkpoint="here", state=Memory(directory="local"))
    assert other.is_dir()
    assert [p.name for p in Path("local/app").iterdir()] == [CHECKPOINT2]


def test_reset_finds_local_state_in_default_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    home = local_state(tmp_path / "tmp" / f"kstreams-{os.getuid()}")
    checkpoint(Path("here"))
    assert [x.path for x in reset("app", checkpoint="here").local] == [home]
    assert not home.exists()


def test_reset_without_checkpoint_suggests_nearest_app_id() -> None:
    with pytest.raises(NoCheckpointError, match="has no checkpoint at"):
        reset("app")
    checkpoint(Path(".kstreams/apple"), app="apple")
    with pytest.raises(NoCheckpointError, match="did you mean 'apple'"):
        reset("appel")
    assert Path(".kstreams/apple/app.json").exists()


def test_reset_rejects_checkpoint_directory_of_another_app() -> None:
    path = checkpoint(Path("here"), app="other")
    with pytest.raises(CheckpointMismatchError, match="belongs to app 'other', not to 'app'"):
        reset("app", checkpoint="here")
    assert (path / "app.json").exists()


def test_reset_rejects_directory_that_is_not_a_checkpoint() -> None:
    Path("home/mine").mkdir(parents=True)
    with pytest.raises(CheckpointMismatchError, match="is not a checkpoint: it has mine"):
        reset("app", checkpoint="home")
    Path("file").touch()
    with pytest.raises(CheckpointMismatchError, match="is not a directory"):
        reset("app", checkpoint="file")
    assert Path("home/mine").exists()


def test_reset_removes_checkpoint_of_app_that_never_started() -> None:
    lock = CheckpointLock(Path("here"))
    lock.acquire()
    lock.release()
    for left in ("12", "0f" * 16):  # of an older version, and of this version
        Path(f"here/.app-{left}.json").touch()
    reset("app", checkpoint="here")
    assert not Path("here").exists()


def test_reset_rejects_running_app() -> None:
    path = checkpoint(Path("here"))
    lock = CheckpointLock(path)
    lock.acquire()
    for attempt in (survey, reset):
        with pytest.raises(AppLockedError):
            attempt("app", checkpoint="here")
    assert (path / "queries" / "q" / "plan").exists()
    lock.release()
    reset("app", checkpoint="here")


@pytest.mark.parametrize("removed", [0, 1, 2], ids="after {} removals".format)
def test_killed_reset_leaves_no_checkpoint_that_starts(
    removed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint(Path("here"))
    home = local_state(Path("local"))
    state = Memory(directory="local")
    delete, calls = shutil.rmtree, iter(range(99))

    def killed(path: Path) -> None:
        if next(calls) == removed:
            raise KeyboardInterrupt
        delete(path)

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            reset("app", checkpoint="here", state=state)
    assert not Path("here").exists()

    found = reset("app", checkpoint="here", state=state)
    assert found.checkpoint is None
    assert len(found.interrupted) == 1
    assert not home.exists()
    assert not list(Path.cwd().glob(".here.reset-*"))
    with pytest.raises(NoCheckpointError):
        reset("app", checkpoint="here", state=state)


def test_next_reset_completes_killed_reset() -> None:
    checkpoint(Path(".here.reset-0123456789ab"), checkpoint_id=CHECKPOINT1)
    checkpoint(Path("here"), checkpoint_id=CHECKPOINT2)
    for checkpoint_id in (CHECKPOINT1, CHECKPOINT2):
        local_state(Path("local"), checkpoint_id=checkpoint_id)
    reset("app", checkpoint="here", state=Memory(directory="local"))
    assert sorted(p.name for p in Path.cwd().iterdir()) == ["local"]
    assert list(Path("local").iterdir()) == []


def test_disk_error_during_reset_raises_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint(Path("here"))

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("shutil.rmtree", refuse)
    with pytest.raises(ExecutionError, match="Permission denied"):
        reset("app", checkpoint="here")
    assert not Path("here").exists()


def test_reset_needs_no_pyspark() -> None:
    program = "import sys, kstreams_admin.reset; sys.exit('pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def objects_of(log: ObjectStore, checkpoint_id: str, app: str = "app") -> list[str]:
    """Create objects of every kind for a checkpoint of an app in a log; return their names."""
    scope = f"{app}.{checkpoint_id}"
    names = [
        f"{scope}.q/00/g/0/1-x.delta",
        f"{scope}.q/garbage/5-unnamed",
        f"commits/{scope}.q/0.json",
        f"commits/{scope}.q!1/0.json",
        f"savepoints/{scope}/monday.json",
    ]
    for name in names:
        log.put_if_absent(name, b"x")
    return names


def test_reset_removes_only_own_objects_of_separate_log() -> None:
    log = Directory("log")
    checkpoint(Path("here"))
    own = objects_of(log.open(), CHECKPOINT1)
    others = [
        *objects_of(log.open(), CHECKPOINT2),
        *objects_of(log.open(), CHECKPOINT11),
        *objects_of(log.open(), CHECKPOINT1, "app2"),
    ]
    assert reset("app", checkpoint="here").objects == 0
    assert set(own) <= set(log.open().list(""))

    checkpoint(Path("here"))
    state = Memory(log=log)
    found = survey("app", checkpoint="here", state=state)
    assert found.objects == len(own)
    assert set(log.open().list("")) == {*own, *others}
    assert reset("app", checkpoint="here", state=state) == found
    assert set(log.open().list("")) == set(others)


def test_next_reset_removes_objects_left_by_killed_reset() -> None:
    log = Directory("log")
    objects_of(log.open(), CHECKPOINT1)
    checkpoint(Path(".here.reset-0123456789ab"))
    found = reset("app", checkpoint="here", state=Memory(log=log))
    assert (found.checkpoint, found.objects) == (None, 5)
    assert list(log.open().list("")) == []


def test_reset_rejects_forged_checkpoint_id() -> None:
    precious = Path("local/precious/app.../x")
    precious.mkdir(parents=True)
    for forged in ("../precious", "../../..", "/", "", "x" * 12, "0123456789abc", None, 7):
        shutil.rmtree(Path("here"), ignore_errors=True)
        checkpoint(Path("here"), checkpoint_id=forged)  # type: ignore[arg-type]  # possible content of a file
        for attempt in (survey, reset):
            with pytest.raises(InvalidNameError, match="expected 12 hex digits"):
                attempt("app", checkpoint="here", state=Memory(directory="local"))
        assert precious.is_dir()
        assert Path("here/queries/q/plan").exists()


def test_reset_keeps_directories_without_checkpoint_id_in_local_state() -> None:
    checkpoint(Path("here"))
    home = local_state(Path("local"))
    for name in ("mine", f"other.{CHECKPOINT1}.q", f"app.{CHECKPOINT2}.q"):
        (home / name).mkdir()
    (home / f"app.{CHECKPOINT1}.link").symlink_to(Path("local").absolute())
    reset("app", checkpoint="here", state=Memory(directory="local"))
    left = {"mine", f"other.{CHECKPOINT1}.q", f"app.{CHECKPOINT2}.q", f"app.{CHECKPOINT1}.link"}
    assert {entry.name for entry in home.iterdir()} == left


@pytest.mark.parametrize("linked", ["local/app", f"local/app/{CHECKPOINT1}"])
def test_reset_keeps_local_state_behind_link(linked: str) -> None:
    checkpoint(Path("here"))
    home = local_state(Path("elsewhere"))
    Path(linked).parent.mkdir(parents=True)
    target = home if linked.endswith(CHECKPOINT1) else home.parent
    Path(linked).symlink_to(target.absolute())
    reset("app", checkpoint="here", state=Memory(directory="local"))
    assert (home / f"app.{CHECKPOINT1}.q/group/0/file").exists()


def test_reset_removes_links_and_keeps_their_targets() -> None:
    path = checkpoint(Path("here"))
    Path("disk").mkdir()
    Path("disk/file").touch()
    for name in ("state", "queries/more"):
        (path / name).symlink_to(Path("disk").absolute())
    reset("app", checkpoint="here")
    assert not path.exists()
    assert Path("disk/file").exists()
    assert not list(Path.cwd().glob(".here.*"))


def test_reset_does_not_follow_checkpoint_that_is_a_link() -> None:
    path = checkpoint(Path("real"))
    Path("here").symlink_to(path)
    with pytest.raises(CheckpointMismatchError, match=r"symbolic link[^!]*real"):
        reset("app", checkpoint="here")
    assert (path / "queries/q/plan").exists()


def test_reset_rejects_checkpoint_with_foreign_files() -> None:
    path = checkpoint(Path("home"))
    (path / "thesis.txt").touch()
    with pytest.raises(CheckpointMismatchError, match=r"has more entries .*: thesis\.txt"):
        reset("app", checkpoint="home")
    assert (path / "queries/q/plan").exists()
    (path / "thesis.txt").unlink()
    reset("app", checkpoint="home")
    assert not path.exists()


def test_reset_removes_local_state_inside_checkpoint() -> None:
    local_state(checkpoint(Path("here")) / "local")
    with pytest.raises(CheckpointMismatchError, match="has more entries"):
        reset("app", checkpoint="here")
    reset("app", checkpoint="here", state=Memory(directory="here/local"))
    assert list(Path.cwd().iterdir()) == []


def test_reset_keeps_directory_of_another_app_named_like_leftover() -> None:
    checkpoint(Path("here"))
    other = checkpoint(Path(".here.reset-0123456789ab"), app="other")
    strange = Path(".here.reset-ba9876543210")
    (strange / "mine").mkdir(parents=True)
    Path(".here.reset-000000000000").symlink_to(other)
    reset("app", checkpoint="here")
    assert (other / "queries/q/plan").exists()
    assert (strange / "mine").is_dir()


def test_reset_keeps_objects_of_app_named_like_app_with_checkpoint_id() -> None:
    log = Directory("log")
    checkpoint(Path("here"))
    objects_of(log.open(), CHECKPOINT1)
    theirs = objects_of(log.open(), CHECKPOINT2, f"app.{CHECKPOINT1}")
    reset("app", checkpoint="here", state=Memory(log=log))
    assert set(log.open().list("")) == set(theirs)


@pytest.mark.parametrize("name", ["../x", "/etc", "a/b", "..", ".", "a\0b", "", "a\nb", "\ud800"])
def test_reset_rejects_app_id_that_leads_elsewhere(name: str) -> None:
    for attempt in (survey, reset):
        with pytest.raises(InvalidNameError, match="an app's id cannot be "):
            attempt(name)
