"""A checkpoint records its app, format and topology, and reports differences."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder, filter_
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.directory_home import DirectoryHome
from kstreams.checkpoint.storage.named_home import app_home, home_of
from kstreams.errors import CheckpointMismatchError, InvalidNameError, StateCorruptError
from kstreams.ids import TaskId
from kstreams.state.backend.memory import Memory
from kstreams.state.log.commits import Commit
from kstreams.state.log.directory import DirectoryObjectStore
from kstreams.state.log.document import seal
from kstreams.state.log.pointer import Pointer

A = Topic("a", TEXT, INT64)
B = Topic("b", TEXT, INT64)


def _topology(*topics: Topic[str, int]) -> Topology:
    builder = TopologyBuilder("shape")
    for topic in topics:
        source = builder.add_source(topic.name, topic)
        builder.add_processor(f"keep-{topic.name}", filter_(lambda k, v: True), source)
    return builder.build()


def _open(path: Path, topology: Topology, app: str = "app", tasks: int = 2) -> Checkpoint:
    counts = {group.name: tasks for group in topology.groups}
    return Checkpoint.open(home_of(path), app, topology, tasks=counts)


def test_checkpoint_can_be_opened_again(tmp_path: Path) -> None:
    first = _open(tmp_path / "c", _topology(A))
    again = _open(tmp_path / "c", _topology(A))
    assert first == again
    assert first.checkpoint_id != _open(tmp_path / "d", _topology(A)).checkpoint_id


def test_checkpoint_of_another_app_is_rejected(tmp_path: Path) -> None:
    _open(tmp_path, _topology(A), "orders")
    with pytest.raises(CheckpointMismatchError) as caught:
        _open(tmp_path, _topology(A), "clicks")
    assert str(caught.value) == (
        f"checkpoint '{tmp_path}' belongs to app 'orders', not to 'clicks'\n"
        "Hint: give each app its own checkpoint."
    )


def test_checkpoint_of_another_format_is_rejected(tmp_path: Path) -> None:
    _open(tmp_path, _topology(A))
    file = tmp_path / "app.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 99}))
    with pytest.raises(CheckpointMismatchError, match=r"has format 99 in .* reads only formats 3"):
        _open(tmp_path, _topology(A))


def test_unfinished_checkpoint_is_created_again(tmp_path: Path) -> None:
    (tmp_path / ".app-1.json").write_text("{")
    assert _open(tmp_path, _topology(A)).app == "app"
    assert Memory().log is None


def test_link_in_place_of_temporary_app_json_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / f".app-{os.getpid()}.json").symlink_to(outside)
    assert _open(tmp_path / "c", _topology(A)) == Checkpoint.load(home_of(tmp_path / "c"))
    assert outside.read_text() == "untouched"


@pytest.mark.parametrize("forged", ["..", "../../x", "0123456789abc", "", None])
def test_forged_checkpoint_id_is_rejected(tmp_path: Path, forged: str | None) -> None:
    _open(tmp_path, _topology(A))
    file = tmp_path / "app.json"
    _change(file, incarnation=forged)
    with pytest.raises(InvalidNameError, match="expected 12 hex digits"):
        Checkpoint.load(home_of(tmp_path))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("app", 7), ("shape", []), ("shape", {"a": 7}), ("shape", {}), ("queries", ["a"]),
        ("queries", {"a": 7}), ("queries", {"a": [7]}), ("tasks", {"a": -1}), ("tasks", {}),
        ("tasks", {"a": "2"}), ("generations", {"a": 1.5}), ("generations", {"a": 2**64}),
        ("ended", {"a": 7}), ("ended", {"a": {"epoch": -2}}), ("start_ms", "now"),
        ("origin", None), ("begun", {"a": 7}), ("begun", None),
    ],
)  # fmt: skip
def test_description_of_wrong_types_is_rejected(tmp_path: Path, field: str, value: object) -> None:
    _open(tmp_path, _topology(A))
    _change(tmp_path / "app.json", **{field: value})
    with pytest.raises(
        StateCorruptError, match=r"app\.json', the app description of .* cannot be read"
    ):
        Checkpoint.load(home_of(tmp_path))


@pytest.mark.parametrize("app", ["../x", "/x", "a/b", "..", "a\0", "a\n", ".a", ""])
def test_forged_app_id_is_rejected(tmp_path: Path, app: str) -> None:
    _open(tmp_path, _topology(A))
    _change(tmp_path / "app.json", app=app)
    with pytest.raises(InvalidNameError, match="an app's id cannot be"):
        Checkpoint.load(home_of(tmp_path))


@pytest.mark.parametrize("app", ["../x", "/x", "a/b", "..", "a\0", "a\n", ".a", "", "a" * 256])
def test_app_id_that_leads_out_of_its_folder_is_rejected(app: str) -> None:
    with pytest.raises(InvalidNameError, match="an app's id cannot be"):
        app_home(app)
    with pytest.raises(InvalidNameError, match="an app's id cannot be"):
        app_home(app, "named")


@pytest.mark.parametrize("app", ["word-count", "Zähler", "two words", "a:b", "a.b", "日本"])
def test_unusual_app_ids_are_accepted(app: str) -> None:
    assert app_home(app) == DirectoryHome((Path(".kstreams") / app).absolute())


@pytest.fixture
def older_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build topologies with any node names, as earlier versions did."""
    monkeypatch.setattr("kstreams.graph.building.builder_base.name_problem", lambda _: "")


def folder(made: Checkpoint, query: str) -> Path:
    assert isinstance(made.home, DirectoryHome)
    return made.home.query(query, made.epoch_numbers.get(query, 0))


@pytest.mark.usefixtures("older_names")
@pytest.mark.parametrize("name", ["../x", "/etc", "a/b", "..", ".", "a\0b", "%2E", "a/../../b"])
def test_query_with_path_like_name_has_stable_directory_inside_checkpoint(
    tmp_path: Path, name: str
) -> None:
    made = _open(tmp_path, _named(name))
    assert folder(made, name).parent == tmp_path / "queries"
    assert folder(made, name).name not in (".", "..")
    folder(made, name).mkdir(parents=True)
    again = replace(made, epoch_numbers={name: 2})
    assert folder(again, name).parent == tmp_path / "generations" / "2"
    log = DirectoryObjectStore(tmp_path / "state")
    made.commits(name, log).append(
        Commit(0, "run", 0, {TaskId(name, 0): Pointer.empty().to_json()})
    )
    (last,) = made.commits(name, log).all()
    assert set(last.pointers()) == {TaskId(name, 0)}


def test_queries_of_two_nodes_have_different_directories(tmp_path: Path) -> None:
    made = _open(tmp_path, _topology(A))
    names = ["a", "a/plans", "%a%2Fplans", "a%2Fplans", ".", "%.", "..", "%%."]
    assert len({folder(made, name) for name in names}) == len(names)


@pytest.mark.usefixtures("older_names")
def test_query_uses_existing_plan_directory_of_earlier_versions(
    tmp_path: Path,
) -> None:
    made = _open(tmp_path, _named("in/eu"))
    assert folder(made, "in/eu") == tmp_path / "queries" / "%in%2Feu"
    (tmp_path / "queries/in/eu/plans").mkdir(parents=True)
    assert folder(made, "in/eu") == tmp_path / "queries/in/eu"


@pytest.mark.parametrize(("app", "node"), [("a" * 200, "n" * 60), ("a", "é" * 60)])
def test_app_and_node_names_that_are_too_long_together_are_rejected_at_start(
    tmp_path: Path, app: str, node: str
) -> None:
    with pytest.raises(InvalidNameError, match="maximum of 255"):
        _open(tmp_path / "c", _named(node), app)
    assert not (tmp_path / "c").exists()


def _change(file: Path, **fields: object) -> None:
    """Forge a description with a valid checksum."""
    known = json.loads(file.read_text())
    own = {name: known[name] for name in known if name not in ("document", "sum")}
    file.write_bytes(seal({**own, **fields}, "app.json").data)


def _named(node: str) -> Topology:
    builder = TopologyBuilder("shape")
    builder.add_processor("keep", filter_(lambda k, v: True), builder.add_source(node, A))
    return builder.build()
