"""The durable log in a directory: names, links, killed writers, full disks."""

from __future__ import annotations

import errno
import os
import pickle
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kstreams.errors import StoreError
from kstreams.state.log.directory import Directory, DirectoryObjectStore


def test_directory_log_settings_open_the_given_directory(tmp_path: Path) -> None:
    settings = pickle.loads(pickle.dumps(Directory(str(tmp_path))))
    assert settings.open().put_if_absent("a/b", b"1")
    assert (tmp_path / "a" / "b").read_bytes() == b"1"


@pytest.mark.parametrize("name", ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/.b", "a\0"])
def test_names_outside_of_directory_are_rejected(tmp_path: Path, name: str) -> None:
    store = DirectoryObjectStore(tmp_path / "log")
    for call in (lambda: store.put_if_absent(name, b""), lambda: store.get(name)):
        with pytest.raises(ValueError, match="is not an object name"):
            call()


def test_links_are_no_objects_and_are_not_followed(tmp_path: Path) -> None:
    elsewhere = DirectoryObjectStore(tmp_path / "elsewhere")
    elsewhere.put_if_absent("a/1", b"theirs")
    store = DirectoryObjectStore(tmp_path / "log")
    store.put_if_absent("a/1", b"own")
    (tmp_path / "log" / "b").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "log" / "a" / "2").symlink_to(tmp_path / "elsewhere" / "a" / "1")
    assert list(store.list("")) == ["a/1"]
    assert list(store.list("b/")) == []
    store.delete(["b/a/1"])
    assert elsewhere.get("a/1") == b"theirs"


def test_unfinished_file_of_killed_writer_is_removed_and_of_live_writer_kept(
    tmp_path: Path,
) -> None:
    import fcntl

    DirectoryObjectStore(tmp_path).put_if_absent("a", b"1")
    left, living = (tmp_path / ".unfinished" / name for name in ("left", "living"))
    left.write_bytes(b"half")
    with living.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        DirectoryObjectStore(tmp_path).put_if_absent("b", b"2")
        assert (left.exists(), living.exists()) == (False, True)
    assert list(DirectoryObjectStore(tmp_path).list("")) == ["a", "b"]


def test_file_size_limit_raises_typed_error(tmp_path: Path) -> None:
    store = DirectoryObjectStore(tmp_path)
    store.put_if_absent("a/small", b"1")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(StoreError, match="a/large") as caught:
            store.put_if_absent("a/large", b"x" * 1_000_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(tmp_path) in caught.value.message
    assert "space" in caught.value.hint
    assert list(store.list("")) == ["a/small"]
    assert list((tmp_path / ".unfinished").iterdir()) == []
    assert store.put_if_absent("a/large", b"x" * 1_000_000)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte; skipped where mounts are not permitted."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("mounting a file system is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_full_disk_raises_typed_error_and_loses_nothing(small_disk: Path) -> None:
    store = DirectoryObjectStore(small_disk)
    store.put_if_absent("a/kept", b"x" * 500_000)
    for _ in range(3):
        with pytest.raises(StoreError, match="No space left") as caught:
            store.put_if_absent("a/more", b"x" * 900_000)
        assert "space" in caught.value.hint
    assert list(store.list("")) == ["a/kept"]
    assert store.put_if_absent("a/more", b"x" * 300_000)


def test_read_only_directory_raises_typed_error(small_disk: Path) -> None:
    store = DirectoryObjectStore(small_disk)
    store.put_if_absent("a", b"1")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StoreError, match=os.strerror(errno.EROFS)):
        store.put_if_absent("b", b"2")
    with pytest.raises(StoreError, match=os.strerror(errno.EROFS)):
        store.delete(["a"])
    assert store.get("a") == b"1"
