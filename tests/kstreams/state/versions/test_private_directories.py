"""Directories of working copies are private to the user, even if others created them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from kstreams.errors import ForeignDirectoryError, StoreOpenError
from kstreams.state.backend.memory import Memory
from kstreams.state.versions.local import local_home, open_local_home
from kstreams.state.versions.private import make_private, private_directory

CHECKPOINT_ID = "0123456789ab"
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a temporary folder shared by all users."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_working_copies_are_private_to_user(shared: Path) -> None:
    home = open_local_home(Memory(), "app", CHECKPOINT_ID)
    assert home == local_home(Memory(), "app", CHECKPOINT_ID)
    assert home == shared / f"kstreams-{os.getuid()}" / "app" / CHECKPOINT_ID
    for step in (home, home.parent, home.parent.parent):
        assert mode(step) == 0o700
    assert mode(shared) == 0o1777


def test_given_state_directory_is_created_private_to_user(tmp_path: Path) -> None:
    home = open_local_home(Memory(directory=str(tmp_path / "a" / "b")), "app", CHECKPOINT_ID)
    assert [mode(p) for p in (home, *home.parents[:3])] == [0o700] * 4


@pytest.mark.parametrize("depth", [1, 2, 3], ids=["user", "app", "epoch"])
def test_link_in_path_of_state_directory_is_not_followed(
    shared: Path, tmp_path: Path, depth: int
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    steps = (f"kstreams-{os.getuid()}", "app", CHECKPOINT_ID)[:depth]
    make_private(shared.joinpath(*steps[:-1]))
    shared.joinpath(*steps).symlink_to(theirs)
    with pytest.raises(
        ForeignDirectoryError, match="a symbolic link, or not a directory"
    ) as caught:
        open_local_home(Memory(), "app", CHECKPOINT_ID)
    assert Path(caught.value.path) == shared.joinpath(*steps)
    assert "TMPDIR" in caught.value.hint
    assert list(theirs.iterdir()) == []


def test_file_in_path_of_state_directory_raises_typed_error(shared: Path) -> None:
    (shared / f"kstreams-{os.getuid()}").touch()
    with pytest.raises(ForeignDirectoryError):
        open_local_home(Memory(), "app", CHECKPOINT_ID)


@AS_ROOT
@pytest.mark.parametrize("depth", [1, 2, 3], ids=["user", "app", "epoch"])
def test_state_directory_of_another_user_is_not_used(shared: Path, depth: int) -> None:
    steps = (f"kstreams-{os.getuid()}", "app", CHECKPOINT_ID)[:depth]
    place = shared.joinpath(*steps)
    make_private(place)
    os.chown(place, 12345, -1)
    with pytest.raises(ForeignDirectoryError, match="belongs to user 12345") as caught:
        open_local_home(Memory(), "app", CHECKPOINT_ID)
    assert isinstance(caught.value, StoreOpenError)
    assert Path(caught.value.path) == place


def test_state_directory_writable_by_others_is_replaced(shared: Path) -> None:
    home = open_local_home(Memory(), "app", CHECKPOINT_ID)
    (home / "planted").mkdir()
    home.chmod(0o777)
    assert open_local_home(Memory(), "app", CHECKPOINT_ID) == home
    assert list(home.iterdir()) == []
    assert mode(home) == 0o700
    assert [p.name for p in home.parent.iterdir()] == [CHECKPOINT_ID]


def test_state_directory_readable_by_others_is_kept_and_made_private(shared: Path) -> None:
    home = open_local_home(Memory(), "app", CHECKPOINT_ID)
    (home / "warm").mkdir()
    home.chmod(0o755)
    home.parent.chmod(0o775)
    open_local_home(Memory(), "app", CHECKPOINT_ID)
    assert (home / "warm").is_dir()
    assert (mode(home), mode(home.parent)) == (0o700, 0o755)


def test_each_directory_of_state_path_is_checked_at_each_use(tmp_path: Path) -> None:
    place = private_directory(tmp_path, "a", "b")
    place.rmdir()
    place.symlink_to(tmp_path)
    with pytest.raises(ForeignDirectoryError):
        private_directory(tmp_path, "a", "b")
