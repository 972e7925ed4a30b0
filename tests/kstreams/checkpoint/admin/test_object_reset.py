"""Reset of an app whose checkpoint is in an object storage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kstreams import TEXT, Topic, Topology, TopologyBuilder
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import OpenedQuery, open_for_running
from kstreams.checkpoint.storage.object_home import ObjectHome
from kstreams.errors import (
    CheckpointMismatchError,
    FencedError,
    NoCheckpointError,
    StoreOpenError,
)
from kstreams.state import ObjectStore
from kstreams.state.log.directory import Directory, DirectoryObjectStore
from kstreams_admin.reset import reset, survey


def topology() -> Topology:
    builder = TopologyBuilder("app")
    words = builder.add_source("words", Topic("words", TEXT, TEXT))
    builder.add_sink("copies", Topic("copies", TEXT, TEXT), words)
    return builder.build()


def started(home: ObjectHome, run: str) -> OpenedQuery:
    settings = AppSettings("app", home)
    (query,) = open_for_running(settings, topology(), {"words": 1}, run=run, publish=lambda _: None)
    return query


def test_running_driver_is_fenced_by_plan_that_reset_leaves(tmp_path: Path) -> None:
    place = Directory(str(tmp_path / "objects"))
    home = ObjectHome(place)
    older = started(home, "older")
    assert older.resumed.last is not None
    first = older.resumed.last.batch
    found = survey("app", checkpoint=place)
    assert found.objects == len(list(place.open().list("")))
    reset("app", checkpoint=place)
    (left,) = place.open().list("")
    assert left.startswith("plans/app.")
    with pytest.raises(FencedError):
        older.plans.write(first + 1, Plan({}))
    with pytest.raises(NoCheckpointError):
        reset("app", checkpoint=place)

    again = started(home, "again")
    assert again.checkpoint.checkpoint_id != older.checkpoint.checkpoint_id
    reset("app", checkpoint=place)
    (left,) = place.open().list("")
    assert again.checkpoint.checkpoint_id in left


def test_reset_rejects_checkpoint_of_another_app(tmp_path: Path) -> None:
    place = Directory(str(tmp_path / "objects"))
    started(ObjectHome(place), "run")
    with pytest.raises(CheckpointMismatchError):
        reset("other", checkpoint=place)
    assert started(ObjectHome(place), "next").resumed.last is not None


class Overwriting(DirectoryObjectStore):
    """A storage that ignores the condition of a conditional create."""

    def put_if_absent(self, name: str, data: bytes) -> bool:
        self.delete([name])
        return super().put_if_absent(name, data)


class Careless(Directory):
    """The settings of an `Overwriting` storage."""

    def open(self) -> DirectoryObjectStore:
        return Overwriting(self.path)


def test_storage_that_overwrites_objects_is_rejected_at_start(tmp_path: Path) -> None:
    place = Careless(str(tmp_path / "objects"))
    with pytest.raises(StoreOpenError, match="overwrites an existing object"):
        started(ObjectHome(place), "run")
    objects: ObjectStore = place.open()
    assert [name for name in objects.list("") if not name.startswith("description/")] == []


@dataclass(frozen=True, eq=False)
class Dying(Directory):
    """A storage whose client dies at one of its write requests."""

    dies_at: int = 0
    requests: list[str] = field(default_factory=list)

    def open(self) -> DirectoryObjectStore:
        return DyingStore(self)


class DyingStore(DirectoryObjectStore):
    def __init__(self, settings: Dying) -> None:
        super().__init__(Path(settings.path))
        self._settings = settings

    def put_if_absent(self, name: str, data: bytes) -> bool:
        self._live(f"put {name}")
        return super().put_if_absent(name, data)

    def delete(self, names: Iterable[str]) -> None:
        gone = list(names)
        super().delete(gone[: len(gone) // 2])
        self._live("delete")
        super().delete(gone)

    def _live(self, request: str) -> None:
        self._settings.requests.append(request)
        if len(self._settings.requests) == self._settings.dies_at:
            raise KeyboardInterrupt


@pytest.mark.parametrize("how", ["by the next start", "by the next reset"])
@pytest.mark.parametrize("request_", range(1, 9))
def test_interrupted_reset_is_completed_by_next_reset(
    how: str, request_: int, tmp_path: Path
) -> None:
    place = Directory(str(tmp_path / "objects"))
    older = started(ObjectHome(place), "older")
    assert older.resumed.last is not None
    first = older.resumed.last.batch + 1
    dying = Dying(str(tmp_path / "objects"), dies_at=request_)
    try:
        reset("app", checkpoint=dying)
        died = False
    except KeyboardInterrupt:
        died = True
    assert died == (request_ <= len(dying.requests))
    begun = any(name.startswith("put description/") for name in dying.requests[: request_ - 1])
    gone = begun and not list(place.open().list("description/"))
    if begun:
        with pytest.raises(NoCheckpointError):
            Checkpoint.load(ObjectHome(place))
    if how == "by the next reset" and not gone and died:
        reset("app", checkpoint=place)
        begun = True
    again = started(ObjectHome(place), "again")
    assert (again.checkpoint.checkpoint_id != older.checkpoint.checkpoint_id) == begun
    with pytest.raises(FencedError):
        older.plans.write(first, Plan({}))
    names = list(place.open().list(""))
    left = [name for name in names if older.checkpoint.checkpoint_id in name]
    assert not begun or all(name.startswith("plans/") for name in left), left
    assert len([name for name in names if name.startswith("description/")]) >= 1
