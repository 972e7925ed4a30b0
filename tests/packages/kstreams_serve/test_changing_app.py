"""Every response has the rows committed at its version, while the app changes in all possible ways.

For a longer run: `KSTREAMS_SERVE_READS=10000 pytest
tests/packages/kstreams_serve/test_changing_app.py`.
"""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kstreams import INT64, TEXT, Topic, TopologyBuilder, View, filter_
from kstreams.checkpoint.savepoint.fork import ForkSource, fork
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.upgrade import Upgrade, upgrade
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.errors import KStreamsError
from kstreams.ids import TaskId
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.testing import FakeClock
from kstreams_client.remote_view import RemoteView
from tests.support.apps.committing_app import PARTITIONS, Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.servers.query_server import TOKEN, Served, serving

KEYS = [f"k{number:02}" for number in range(40)]
READS = int(os.environ.get("KSTREAMS_SERVE_READS", "150"))
Model = dict[tuple[str, int], dict[str, int]]


class Changing:
    """An app that commits, dies, is upgraded, forked and reset, with a record of its committed
    rows.
    """

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.model: Model = {}
        self._random = random.Random(seed)
        self._values = 0
        self._present: dict[str, int] = {}
        self._stores = 0
        self._forks = 0
        self._app = Committing(path, COUNTS)
        self._note(-1)
        self.commit()

    def step(self) -> None:
        """Do a random action."""
        events = [self.commit] * 16 + [self.die, self.upgrade, self.fork, self.reset]
        self._random.choice(events)()

    def commit(self) -> None:
        changes: dict[str, int | None] = {}
        for key in self._random.sample(KEYS, self._random.randrange(12)):
            self._values += 1
            changes[key] = None if self._random.random() < 0.2 else self._values
        merged = {**self._present, **changes}
        self._present = {key: value for key, value in merged.items() if value is not None}
        self._note(self._app.batch + 1)  # before a client can see it
        self._app.put(changes.items())

    def _note(self, batch: int) -> None:
        epoch = self._app.checkpoint.log_name("in")
        self.model[epoch, batch] = dict(self._present)

    def committed(self, epoch: str, batch: int | None) -> dict[str, int]:
        """Return the rows committed by a batch, once they are recorded here."""
        name = epoch, -1 if batch is None else batch
        for _ in range(5000):
            if name in self.model:
                break
            time.sleep(0.001)
        return self.model[name]

    def die(self) -> None:
        """Write a batch that no commit names."""
        app = self._app
        append, pointers, batch = app.commits.append, dict(app.pointers), app.batch
        app.commits.append = lambda commit: commit  # type: ignore[method-assign]
        app.put((key, -1) for key in KEYS)
        app.commits.append = append  # type: ignore[method-assign]
        app.pointers, app.batch = pointers, batch

    def upgrade(self) -> None:
        """Start a new epoch with one more store."""
        self._stores += 1
        builder = TopologyBuilder("viewed")
        source = builder.add_source("in", Topic("in", TEXT, INT64))
        more = [key_value_store(f"s{n}", key=TEXT, value=INT64) for n in range(self._stores)]
        builder.add_processor("keep", filter_(lambda k, v: True), source, stores=[COUNTS, *more])
        settings = AppSettings("viewed", home_of(self.path))
        wanted = Upgrade(settings, builder.build(), {"in": PARTITIONS}, self._app.objects, "run")
        self._app.checkpoint = upgrade(self._app.checkpoint, wanted)
        self._go_on()

    def fork(self) -> None:
        """Continue in the same place with a fork of a savepoint."""
        self._forks += 1
        name = f"f{self._forks}"
        Savepoints(self._app.checkpoint, self._app.objects).create(name, FakeClock())
        old = self.path.with_name(f"old{self._forks}")
        self.path.rename(old)
        self._app.checkpoint = fork(ForkSource(old, name), self.path, "viewed")
        self._app.objects = self._app.checkpoint.log.open()
        self._go_on()

    def _go_on(self) -> None:
        app = self._app
        app.commits = app.checkpoint.commits("in", app.objects)
        last = app.commits.last()
        assert last is not None
        found = last.pointers()
        app.pointers = {each: found[TaskId("in", each)] for each in range(PARTITIONS)}
        app.batch = last.batch
        self._note(last.batch)

    def reset(self) -> None:
        """Reset the app."""
        shutil.rmtree(self.path)
        self._stores = 0
        self._present = {}
        self._app = Committing(self.path, COUNTS)
        self._note(-1)
        self.commit()


def operation(drawn: random.Random) -> tuple[Callable[[Any], Any], Callable[[dict[str, int]], Any]]:
    """Return a random read of a view, and the same read of the committed rows."""
    low, high = sorted(drawn.sample(KEYS, 2))
    reverse = drawn.random() < 0.5
    if drawn.random() < 0.5:
        return lambda view: view.get(low), lambda rows: rows.get(low)
    if drawn.random() < 0.3:
        return (
            lambda view: list(view.prefix_scan(low[:2].encode(), reverse=reverse)),
            lambda rows: sorted(
                ((k, v) for k, v in rows.items() if k.startswith(low[:2])), reverse=reverse
            ),
        )
    return (
        lambda view: list(view.range(low, high, reverse=reverse)),
        lambda rows: sorted(((k, v) for k, v in rows.items() if low <= k < high), reverse=reverse),
    )


def epoch_of(view: RemoteView[Any] | View[Any]) -> str:
    """Return the epoch that a view has read."""
    reader: Any = view._versions
    found: str = reader._place.epoch
    return found


def pages(served: Served, drawn: random.Random) -> tuple[int | None, str, dict[str, int]] | None:
    """Return all rows by a cursor, and their version; None if the version is deleted meanwhile."""
    store = "/v1/apps/viewed/stores/counts"
    path = f"{store}/rows?limit={drawn.randrange(3, 20)}"
    if drawn.random() < 0.5:
        path += "&reverse=true"
    seen: dict[str, int] = {}
    first = None
    while True:
        answer = served.get(path)
        if answer.status in (410, 503):
            return None
        assert answer.status == 200, answer
        named = (answer.headers["kstreams-version"], answer.headers["etag"])
        first = first or named
        assert named == first
        for row in answer.json["rows"]:
            assert row["key"] not in seen
            seen[row["key"]] = row["value"]
        cursor = answer.json["cursor"]
        if cursor is None:
            batch, tag = first
            return (None if batch == "none" else int(batch)), tag, seen
        path = f"{store}/rows?limit={drawn.randrange(3, 20)}&cursor={cursor}"


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_every_response_has_the_rows_committed_at_its_version(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)
    app = Changing(tmp_path / "c", seed)
    ended = threading.Event()
    failed: list[BaseException] = []

    def run() -> None:
        try:
            while not ended.is_set():
                app.step()
                time.sleep(0.01)
        except BaseException as exc:
            failed.append(exc)

    thread = threading.Thread(target=run)
    epochs: set[str] = set()
    checked = paged = 0
    with (
        serving((app.path, COUNTS)) as served,
        RemoteView(served.server.url, COUNTS, token=TOKEN) as remote,
        View(app.path, COUNTS) as local,
    ):
        thread.start()
        try:
            for number in range(20 * READS):
                if number >= READS and len(epochs) > 3:
                    break
                for view in (remote, local):
                    look, expected = operation(drawn)
                    try:
                        found = look(view)
                    except KStreamsError:
                        continue  # between a reset and the next start
                    epoch = epoch_of(view)
                    assert found == expected(app.committed(epoch, view.version))
                    epochs.add(epoch)
                    checked += 1
                whole = pages(served, drawn) if drawn.random() < 0.2 else None
                if whole is not None:
                    batch, _, rows = whole
                    known = dict(app.model)
                    assert rows in [m for (_, b), m in known.items() if b in (batch, -1)]
                    paged += 1
        finally:
            ended.set()
            thread.join(20)
    assert not failed, failed
    assert checked > READS
    assert paged > READS // 30
    assert len(epochs) > 3
