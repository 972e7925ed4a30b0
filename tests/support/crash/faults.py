"""Faults for crash tests: wrappers of log, backend and stores that die at a named event.

An armed fault occurs once, at one event. Everything before the event is real, and the wrapped parts
leave the same unfinished files as a killed process.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kstreams import Record
from kstreams.batch.worker.worker_state import WorkerState
from kstreams.errors import StoreError
from kstreams.ids import TaskId
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.backend.working import (
    Changes,
    CopiesVersions,
    SharesVersions,
    StaysOpen,
    WorkingStore,
)
from kstreams.state.log.directory import DirectoryObjectStore
from kstreams_s3.store import S3ObjectStore

__all__ = (
    "Faults",
    "FaultyBackend",
    "FaultyLog",
    "FaultyProcess",
    "FaultySharingBackend",
    "FaultyStayingBackend",
    "Killed",
    "copied",
    "end_open_versions",
    "faulty_backend",
    "version_of",
)

_WAIT_S = 60.0
"""Time for another thread of the same process to reach its next step."""
_POLL_S = 0.1
"""Interval of the checks whether the fault has occurred in another process."""


class Killed(Exception):
    """Represents the death of a process or of an attempt; unknown to the library."""


class Faults:
    """The only fault of an app, in a folder that all its processes share.

    Args:
        folder: The folder in which the fault is armed.
        die: Called at the event, before `Killed` is raised.

    Attributes:
        dead: Whether this process must do nothing more.
    """

    def __init__(self, folder: Path, die: Callable[[], None] | None = None) -> None:
        self._folder = folder
        self._driver = os.getpid()
        self.die = die
        self.dead = False
        self._moved = threading.Condition()
        self._seen: dict[str, int] = {}
        self._stamp = -1

    def __reduce__(self) -> tuple[Any, ...]:
        return _in_worker, (self._folder, self._driver)

    def arm(self, event: str, nth: int = 1, after: str | None = None) -> None:
        """Arm the fault for the nth occurrence of an event in a process, after event `after`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "struck").unlink(missing_ok=True)
        aside = self._folder / "aside"
        aside.write_text(json.dumps([event, nth, after]))
        aside.rename(self._folder / "armed")

    def awaits(self, event: str) -> bool:
        """Return whether the fault is armed for an event."""
        armed = self._armed()
        return armed is not None and armed[0] == event

    @property
    def struck(self) -> bool:
        """Whether the fault has occurred since it was armed last."""
        return (self._folder / "struck").exists()

    def reach(self, event: str, leave: Callable[[], object] | None = None) -> None:
        """Return normally, or leave something unfinished and die if the fault is armed for the
        event.
        """
        if self._strikes(event):
            if leave is not None:
                leave()
            if self.die is not None:
                self.die()
            raise Killed(event)

    def loses(self, event: str) -> bool:
        """Return whether to lose a reply, because the fault is armed for it; True only once."""
        return self._strikes(event)

    def _strikes(self, event: str) -> bool:
        if self.dead:
            raise Killed(f"{event}, after the end")
        armed = self._armed()
        with self._moved:
            self._seen[event] = self._seen.get(event, 0) + 1
            self._moved.notify_all()
            if armed is None or armed[0] != event or self._seen[event] < armed[1]:
                return False
            after = armed[2]
            if after is not None:
                self._wait_for(after, event)
        try:
            (self._folder / "armed").rename(self._folder / "struck")
        except FileNotFoundError:  # another process was first
            return False
        return True

    def _wait_for(self, after: str, event: str) -> None:
        """Wait until this process has reached an event, or the fault has occurred in another one.

        The event may never come in this process: a commit whose merger is due waits for its delta.
        """
        deadline = time.monotonic() + _WAIT_S
        while after not in self._seen and (self._folder / "armed").exists():
            if time.monotonic() > deadline:
                raise AssertionError(f"{after!r} did not occur within {_WAIT_S:g} s")
            self._moved.wait(_POLL_S)

    def _armed(self) -> tuple[str, int, str | None] | None:
        try:
            with (self._folder / "armed").open() as file:
                stamp = os.fstat(file.fileno()).st_mtime_ns
                event, nth, after = json.load(file)
        except FileNotFoundError:
            return None
        with self._moved:
            if stamp != self._stamp:  # armed again: count from here
                self._stamp = stamp
                self._seen.clear()
        return event, nth, after


def _in_worker(folder: Path, driver: int) -> Faults:
    """Return this fault for a worker process, whose death is real."""
    return Faults(folder, die=None if os.getpid() == driver else lambda: os._exit(9))


@dataclass(frozen=True, eq=False)
class FaultyLog:
    """Settings of a durable log with faults."""

    inner: ObjectStoreSettings
    faults: Faults

    def open(self) -> FaultyObjects:
        return FaultyObjects(self.inner.open(), self.faults)


class FaultyObjects:
    """An object store with faults; events are `<moment> put|delete <kind of object>`."""

    def __init__(self, inner: ObjectStore, faults: Faults) -> None:
        self._inner = inner
        self._faults = faults

    def put_if_absent(self, name: str, data: bytes) -> bool:
        reach, kind = (
            self._faults.reach,
            _kind(name) + (" ahead" if b'"ahead":true' in data else ""),
        )
        reach(f"before put {kind}")
        reach(f"amid put {kind}", lambda: _leave_half(self._inner, name, data))
        made = self._inner.put_if_absent(name, data)
        if self._faults.loses(f"lost reply of put {kind}"):
            return self._inner.put_if_absent(name, data)  # as a client that received no reply
        reach(f"after put {kind}")
        reach("after put of any object")
        return made

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        return self._inner.get(name, start, length)

    def list(self, prefix: str) -> Iterator[str]:
        return self._inner.list(prefix)

    def delete(self, names: Iterable[str]) -> None:
        gone = list(names)
        kind = _kind(gone[0]) if gone else "nothing"
        self._faults.reach(f"before delete {kind}")
        half = gone[: len(gone) // 2]
        self._faults.reach(f"amid delete {kind}", lambda: self._inner.delete(half))
        self._inner.delete(gone)
        self._faults.reach(f"after delete {kind}")


def _kind(name: str) -> str:
    folder, _, rest = name.partition("/")
    if folder in ("commits", "savepoints", "plans"):
        return folder.rstrip("s")
    return "note" if rest.startswith("garbage/") else name.rpartition(".")[2]


def _leave_half(objects: ObjectStore, name: str, data: bytes) -> None:
    """Leave a half-written object, as a process killed during the write would."""
    half = data[: len(data) // 2]
    if isinstance(objects, S3ObjectStore):
        client, bucket, key = objects._client, objects._bucket, objects._prefix + name
        upload = client.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
        client.upload_part(Bucket=bucket, Key=key, UploadId=upload, PartNumber=1, Body=half)
    elif isinstance(objects, DirectoryObjectStore):
        aside = objects._root / ".unfinished"
        aside.mkdir(parents=True, exist_ok=True)
        (aside / f"half-{len(list(aside.iterdir()))}").write_bytes(half)
    else:
        raise TypeError(f"no faults are defined for {objects!r}")


@dataclass(frozen=True, eq=False)
class FaultyBackend:
    """A backend with faults; events are `<moment> <call>`, with the kind of directory."""

    inner: CopiesVersions
    faults: Faults
    log: FaultyLog

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def directory(self) -> str | None:
        return self.inner.directory

    def open(self, directory: Path, stores: Sequence[str]) -> FaultyStore:
        self.faults.reach(f"before open {_role(directory)}")
        return FaultyStore(self.inner.open(directory, stores), directory, self.faults)

    def branch(self, source: Path, target: Path) -> bool:
        what = "branch of copy" if _role(target) == "copy" else "branch"
        self.faults.reach(f"before {what}")
        self.faults.reach(f"amid {what}", lambda: _link_first(source, target))
        return self.inner.branch(source, target)

    def copy(self, source: Path, target: Path) -> bool:
        self.faults.reach("before copy")
        return self.inner.copy(source, target)

    def remove(self, directory: Path) -> None:
        self.faults.reach(f"before remove {_role(directory)}")
        self.faults.reach(f"amid remove {_role(directory)}", lambda: _remove_first(directory))
        self.inner.remove(directory)


class FaultySharingBackend(FaultyBackend):
    """A backend with faults, of which several processes read the versions."""

    def open_shared(self, directory: Path, stores: Sequence[str]) -> WorkingStore:
        assert isinstance(self.inner, SharesVersions)
        self.faults.reach("before open shared")
        return self.inner.open_shared(directory, stores)


class FaultyStayingBackend(FaultySharingBackend):
    """A backend with faults that stays open from batch to batch."""

    @property
    def open_bytes(self) -> int:
        assert isinstance(self.inner, StaysOpen)
        return self.inner.open_bytes


def faulty_backend(inner: CopiesVersions, faults: Faults, log: FaultyLog) -> FaultyBackend:
    """Return a backend with faults and with the same capabilities as the real one."""
    if isinstance(inner, StaysOpen) and inner.open_bytes:
        return FaultyStayingBackend(inner, faults, log)
    if isinstance(inner, SharesVersions):
        return FaultySharingBackend(inner, faults, log)
    return FaultyBackend(inner, faults, log)


def end_open_versions(worker: WorkerState) -> None:
    """Close the open versions of a killed worker, and leave its files to the next one."""
    kept = worker.open_versions._kept
    while kept:
        version = kept.popitem()[1].version
        with suppress(Killed, StoreError):
            version.base.close()
        version.directory.release()


def _role(directory: Path) -> str:
    if directory.name.startswith("."):
        return "copy"  # of a global table
    role = directory.name.partition("-")[2]
    return {"base": "restored", "snapshot": "snapshot"}.get(role, "attempt")


def _link_first(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir())[:1]:
        os.link(path, target / path.name)


def _remove_first(directory: Path) -> None:
    for path in sorted(directory.iterdir())[:1] if directory.is_dir() else ():
        path.unlink()


class FaultyStore:
    """A working store that dies at the armed event.

    If the whole process is dead, the inner store is closed, so that its directory is unlocked as
    after the end of a real process.
    """

    def __init__(self, inner: WorkingStore, directory: Path, faults: Faults) -> None:
        self._inner = inner
        self._directory = directory
        self._role = _role(directory)
        self._faults = faults
        self.get = inner.get
        self.multi_get = inner.multi_get
        self.scan = inner.scan
        self.count = inner.count

    def write(self, changes: Changes) -> None:
        self._faults.reach(f"before write {self._role}")
        self._inner.write(changes)
        self._faults.reach(f"after write {self._role}")

    def close(self) -> None:
        try:
            self._faults.reach(f"before close {self._role}")
        except Killed:
            if self._faults.dead:
                self._let_go()
            raise
        self._inner.close()
        self._faults.reach(f"after close {self._role}")
        if self._faults.awaits("version named soon"):
            threading.Thread(target=self._die_once_named, daemon=True).start()

    def _die_once_named(self) -> None:
        """End this process when the library has named the closed version."""
        attempts = self._directory.parent
        while attempts.is_dir():
            with suppress(FileNotFoundError):
                for link in (attempts.parent / "versions").iterdir():
                    if link.is_symlink() and link.readlink().name == self._directory.name:
                        self._faults.reach("version named soon")
                        return
            time.sleep(0.0005)

    def _let_go(self) -> None:
        with suppress(StoreError):
            self._inner.close()


@dataclass(frozen=True, eq=False)
class FaultyProcess:
    """An interceptor for which each record is an event."""

    faults: Faults

    def bind(
        self, node: str, task: TaskId, process: Callable[[Record[Any, Any]], None]
    ) -> Callable[[Record[Any, Any]], None]:
        def faulty(record: Record[Any, Any]) -> None:
            self.faults.reach("process")
            process(record)

        return faulty


def copied(source: str, target: str) -> str:
    """Copy a file of a dead process."""
    try:
        return shutil.copy2(source, target)
    except FileNotFoundError:  # a thread of the dead process has removed it
        return target


def version_of(name: str) -> int:
    """Return the number in the name of an object."""
    return int(name.rpartition("/")[2].partition("-")[0])
