"""A reset where the checkpoint is in an object storage."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams import TEXT, Topic, Topology, TopologyBuilder
from kstreams.checkpoint.app_settings import AppSettings
from kstreams.checkpoint.object_home import ObjectHome
from kstreams.checkpoint.opening import OpenedQuery, open_for_running
from kstreams.checkpoint.plans import Plan
from kstreams.checkpoint.reset import reset, survey
from kstreams.errors import (
    CheckpointMismatchError,
    FencedError,
    NoCheckpointError,
    StoreOpenError,
)
from kstreams.state import ObjectStore
from kstreams.state.log.directory import Directory, DirectoryObjectStore


def topology() -> Topology:
    builder = TopologyBuilder("app")
    words = builder.add_source("words", Topic("words", TEXT, TEXT))
    builder.add_sink("copies", Topic("copies", TEXT, TEXT), words)
    return builder.build()


def started(home: ObjectHome, run: str) -> OpenedQuery:
    settings = AppSettings("app", home)
    (query,) = open_for_running(settings, topology(), {"words": 1}, run=run, publish=lambda _: None)
    return query


def test_what_is_left_keeps_a_driver_that_runs_from_going_on(tmp_path: Path) -> None:
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
    assert again.checkpoint.incarnation != older.checkpoint.incarnation
    reset("app", checkpoint=place)
    (left,) = place.open().list("")
    assert again.checkpoint.incarnation in left


def test_a_reset_refuses_another_app(tmp_path: Path) -> None:
    place = Directory(str(tmp_path / "objects"))
    started(ObjectHome(place), "run")
    with pytest.raises(CheckpointMismatchError):
        reset("other", checkpoint=place)
    assert started(ObjectHome(place), "next").resumed.last is not None


class Overwriting(DirectoryObjectStore):
    """A storage that ignores the condition of a create."""

    def put_if_absent(self, name: str, data: bytes) -> bool:
        self.delete([name])
        return super().put_if_absent(name, data)


class Careless(Directory):
    """The settings of such a storage."""

    def open(self) -> DirectoryObjectStore:
        return Overwriting(self.path)


def test_a_storage_that_overwrites_is_refused_at_the_start(tmp_path: Path) -> None:
    place = Careless(str(tmp_path / "objects"))
    with pytest.raises(StoreOpenError, match="overwrites what is there"):
        started(ObjectHome(place), "run")
    objects: ObjectStore = place.open()
    assert [name for name in objects.list("") if not name.startswith("description/")] == []
