"""A custom store kind is supported like a built-in one."""

from __future__ import annotations

import pickle
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import (
    DOUBLE,
    INT64,
    TEXT,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    View,
    key_value_store,
    plugins,
)
from kstreams.aggregators import count
from kstreams.app import ForkSource, Migration
from kstreams.checkpoint.savepoint.fork import fork
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.clock import FakeClock
from kstreams.durations import seconds
from kstreams.errors import CheckpointMismatchError, StoreKindError, TopologyError
from kstreams.processors.aggregate import aggregate
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.stores.known_kinds import find_kind
from kstreams.store_kinds import Overlay, StoreKind
from kstreams.stores import StoreSpec, window_store
from kstreams.testing import TopologyTestDriver
from kstreams.windows import SessionWindows, TumblingWindows, windowed_aggregate
from tests.kstreams.checkpoint.start.test_upgrade import AppCheckpoint
from tests.kstreams.checkpoint.start.test_upgrade import topology as shape
from tests.packages.kstreams_admin.test_changelog_restore import Logging
from tests.support.apps.committing_app import Committing
from tests.support.cli.command_line import kstreams, say
from tests.support.storage import custom_store_kind as outside
from tests.support.storage.custom_store_kind import (
    SORTED_SET,
    SortedSet,
    SortedSetKind,
    by_score,
    rank,
    sorted_set,
)

SCORES = sorted_set("scores", member=TEXT)
GAMES = Topic("games", TEXT, DOUBLE)
RANKS = Topic("ranks", TEXT, INT64)
WHERE = ("--checkpoint", "c")
TOPOLOGY = ("--topology", "scoring:TOPOLOGY")


class Rank(FixedKeyProcessor[str, float, int]):
    """Adds to the score of a member, and forwards its rank."""

    def __init__(self, store: StoreSpec[SortedSet[str]]) -> None:
        self.store = store

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.scores = context, context.store(self.store)

    def process(self, record: Record[str, float]) -> None:
        score = (self.scores.get(record.key) or 0.0) + record.value
        self.scores.put(record.key, score)
        self.context.forward(record.with_value(self.scores.rank(record.key) or 0))


def ranking(store: StoreSpec[SortedSet[str]] = SCORES) -> Topology:
    builder = TopologyBuilder("ranking")
    games = builder.add_source("games", GAMES)
    ranks = builder.add_processor("rank", lambda: Rank(store), games, stores=[store])
    builder.add_sink("ranks", RANKS, ranks)
    return builder.build()


scores = st.dictionaries(st.text("abc", max_size=3), st.none() | st.floats(-5, 5), max_size=8)


@given(st.lists(scores, max_size=5))
def test_custom_store_equals_model(batches: list[dict[str, float | None]]) -> None:
    base, model = MemoryStore(["scores"]), dict[str, float]()
    for batch in batches:
        overlay = Overlay(base)
        for member, score in batch.items():
            SCORES.open(overlay).put(member, score)
            model.pop(member, None)
            if score is not None:
                model[member] = score
        base.write(overlay.changes())
    live = SCORES.open(Overlay(base))
    assert dict(live.range()) == model
    places = sorted((score + 0.0, member) for member, score in model.items())
    assert [member for _, member in live.by_score(-9, 9)] == [member for _, member in places]
    assert [live.rank(member) for _, member in places] == list(range(len(places)))


def test_custom_store_works_in_test_driver_and_supports_read_ahead() -> None:
    outside.READ_AHEAD.clear()
    with TopologyTestDriver(ranking()) as driver:
        driver.pipe_batch(GAMES, [Record(f"m{n % 700}", float(n % 700), n) for n in range(1400)])
        assert driver.store(SCORES).rank("m699") == 699
        assert driver.store_contents(SCORES) == {f"m{n}": 2.0 * n for n in range(700)}
        # the score is 2.0 * n for members up to m10, n for later ones
        assert driver.read_values(RANKS)["m10"] == 19
    assert set(outside.READ_AHEAD) == {f"m{n}" for n in range(700)}


class AskedKind(SortedSetKind):
    """A kind that records calls of its methods."""

    def __getattribute__(self, name: str) -> Any:
        ASKED.append(name)
        return super().__getattribute__(name)


ASKED: list[str] = []
"""The methods of `AskedKind` called in this process."""


def test_methods_of_custom_kind_are_not_called_for_each_record() -> None:
    asked = []
    for records in (1, 2000):
        ASKED.clear()
        store: StoreSpec[SortedSet[str]] = StoreSpec("s", AskedKind("asked"), TEXT, DOUBLE)
        with TopologyTestDriver(ranking(store)) as driver:
            driver.pipe_batch(GAMES, [Record(f"m{n % 99}", 1.0, n) for n in range(records)])
        asked.append(len(ASKED))
    assert asked[0] == asked[1] > 0


def test_views_offer_methods_and_types_of_custom_store(tmp_path: Path) -> None:
    app = Committing(tmp_path, SCORES)
    app.put((f"m{n}", float(n % 10)) for n in range(30))
    with View(tmp_path, SCORES) as view:
        assert (view.get("m17"), view.get("none"), view.has("m3")) == (7.0, None, True)
        assert list(view.range("m28", "m4")) == [("m28", 8.0), ("m29", 9.0), ("m3", 3.0)]
        assert (rank(view, "m11"), rank(view, "m10"), rank(view, "none")) == (4, 1, None)
        assert sorted(by_score(view, 8, 9)) == ["m18", "m28", "m8"]
        assert by_score(view, 3, 5)[3:] == by_score(view, 4, 5)
        found = view.read_key("m3", lambda store: store.rank("m3"))
        assert found is not None


def fill() -> None:
    app = Committing(Path("c").absolute(), SCORES)
    app.put([("ann", 3.5), ("bob", 1.0), ("cid", 2.0)])
    Path("scoring.py").write_text(
        "from tests.kstreams.state.stores.test_custom_kind import ranking\nTOPOLOGY = ranking()\n"
    )


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(".")
    fill()


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.split()]


@pytest.mark.usefixtures("app")
def test_command_line_shows_and_exports_custom_store_given_its_topology() -> None:
    rows = words(say("state", "scan", "viewed", "scores", *WHERE, *TOPOLOGY))
    assert rows == [["member", "score"], ["ann", "3.5"], ["bob", "1.0"], ["cid", "2.0"]]
    assert say("state", "get", "viewed", "scores", "ann", *WHERE, *TOPOLOGY) == "3.5\n"
    kstreams("state", "export", "viewed", "scores", "s.parquet", *WHERE, *TOPOLOGY)
    assert pq.read_table("s.parquet").to_pylist() == [
        {"member": "ann", "score": 3.5},
        {"member": "bob", "score": 1.0},
        {"member": "cid", "score": 2.0},
    ]


@pytest.mark.usefixtures("app")
def test_command_line_without_topology_supports_only_commands_that_read_no_rows() -> None:
    assert words(say("state", "list", "viewed", *WHERE))[1][:2] == ["scores", "sorted-set"]
    say("state", "verify", "viewed", *WHERE)
    say("state", "savepoint", "viewed", "monday", *WHERE)
    refused = kstreams("state", "scan", "viewed", "scores", *WHERE)
    assert refused.exit_code == 1
    assert "StoreKindError: there is no kind of store 'sorted-set'" in refused.stderr
    assert "name the topology that defines the kind, or install the package" in refused.stderr


def offer(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    point = EntryPoint(name, value, "kstreams.store_kinds")
    monkeypatch.setattr(plugins, "_found", lambda group: {name: (point,)})


@pytest.mark.usefixtures("app")
def test_installed_package_can_provide_store_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, "sorted-set", f"{outside.__name__}:SORTED_SET")
    rows = words(say("state", "scan", "viewed", "scores", *WHERE, "--reverse", "--limit", "1"))
    assert rows == [["member", "score"], ["cid", "2.0"]]
    with pytest.raises(StoreKindError) as caught:
        find_kind("sorted-sets")
    assert caught.value.hint == "did you mean 'sorted-set'?"


def test_entry_point_of_store_kind_must_have_name_of_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offer(monkeypatch, "sorted-sets", f"{outside.__name__}:SORTED_SET")
    with pytest.raises(StoreKindError, match="entry point 'sorted-sets' of"):
        find_kind("sorted-sets")


def test_changelog_rebuilds_custom_store(tmp_path: Path) -> None:
    logged = SCORES.with_changelog("scores-log")
    app = Logging(tmp_path, logged)
    app.commit({"ann": 3, "bob": 1})
    app.commit({"ann": 5, "bob": None, "cid": 2})
    assert app.read(logged) == {"ann": 5.0, "cid": 2.0}
    app.lose_state()
    app.restore()
    assert app.read(logged) == {"ann": 5.0, "cid": 2.0}


def app_with(path: Path, *stores: StoreSpec[Any]) -> AppCheckpoint:
    app = AppCheckpoint(path, shape(*stores))

    def put(overlay: Overlay) -> None:
        for spec in stores:
            spec.open(overlay).put("ann", 3.0)
            spec.open(overlay).put("bob", 1.0)

    app.commit(3, put, *stores)
    return app


def test_upgrade_keeps_custom_store(tmp_path: Path) -> None:
    app = app_with(tmp_path, SCORES)
    app.upgrade(shape(SCORES, key_value_store("more", key=TEXT, value=INT64)))
    assert app.live(SCORES).rank("ann") == 1


def test_upgrade_migrates_custom_store(tmp_path: Path) -> None:
    app = app_with(tmp_path, SCORES)
    new = sorted_set("points", member=TEXT)
    migration = Migration(SCORES, lambda member, score: -score)
    app.upgrade(shape(new), migrate={"points": migration})
    assert dict(app.live(new).range()) == {"ann": -3.0, "bob": -1.0}
    assert app.live(new).rank("ann") == 0


def test_custom_store_cannot_be_opened_as_another_kind(tmp_path: Path) -> None:
    app = app_with(tmp_path, SCORES)
    plain = key_value_store("scores", key=TEXT, value=DOUBLE)
    with pytest.raises(CheckpointMismatchError, match="kind was sorted-set, now key-value"):
        app.upgrade(shape(plain))
    with pytest.raises(CheckpointMismatchError, match="of kind sorted-set cannot be migrated"):
        app.upgrade(shape(plain), migrate={"scores": Migration(SCORES)})
    with pytest.raises(CheckpointMismatchError):
        View(tmp_path, plain)


def test_savepoints_and_forks_include_custom_store(tmp_path: Path) -> None:
    app = app_with(tmp_path / "a", SCORES)
    Savepoints(app.checkpoint, app.objects).create("monday", FakeClock(9))
    with View(tmp_path / "a", SCORES, as_of="monday") as view:
        assert list(view.items()) == [("ann", 3.0), ("ann", 3.0), ("bob", 1.0), ("bob", 1.0)]
    fork(ForkSource(tmp_path / "a", "monday"), tmp_path / "b", "copy")
    with View(tmp_path / "b", SCORES) as view:
        assert view.get("ann") == 3.0


def test_processors_reject_stores_of_wrong_kind() -> None:
    wrong: Any = SCORES
    with pytest.raises(TopologyError, match="is a sorted-set store, but aggregate needs a timest"):
        aggregate(count(), store=wrong)
    with pytest.raises(TopologyError, match="but SessionWindows need a session store"):
        windowed_aggregate(SessionWindows(seconds(1)), count(), store=wrong)
    windows, others = TumblingWindows(seconds(1)), TumblingWindows(seconds(2))
    store = window_store("w", key=TEXT, value=INT64, windows=others)
    assert windowed_aggregate(others, count(), store=store).stores == (store,)
    with pytest.raises(
        TopologyError, match=r"store 'w' is defined with windows .* aggregated with"
    ):
        windowed_aggregate(windows, count(), store=store)


def test_store_kinds_can_be_pickled_and_found_by_name() -> None:
    assert pickle.loads(pickle.dumps(SCORES)) == SCORES
    assert pickle.loads(pickle.dumps(SORTED_SET)) == SORTED_SET
    assert find_kind("sorted-set", [SCORES]) is SORTED_SET


class Bare(StoreKind[object]):
    """A store kind that defines only `open`."""

    def open(self, spec: StoreSpec[object], overlay: Overlay) -> object:
        return overlay.store(spec.name, spec.key, spec.value)


def test_missing_methods_of_custom_kind_raise_errors_that_name_it() -> None:
    spec = StoreSpec("s", Bare("bare"), TEXT, INT64)
    overlay = Overlay(MemoryStore(["s"]))
    with pytest.raises(TopologyError, match="is of kind 'bare', which does not support changelogs"):
        spec.changelog_form()
    with pytest.raises(StoreKindError, match="stores of kind 'bare' have no rows to show"):
        spec.kind.scan(spec.open(overlay), None, None, reverse=False)
    with pytest.raises(CheckpointMismatchError, match="of kind bare, which cannot be migrated"):
        spec.kind.contents(spec, overlay)
    assert spec.kind.read_ahead(spec, overlay) is None
