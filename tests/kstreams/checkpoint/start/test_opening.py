"""The next start removes files left in a checkpoint by a killed process."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from kstreams import INT64, TEXT, Topic, TopologyBuilder
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import open_for_running
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.processors.filter import filter_


def _start(path: Path) -> None:
    builder = TopologyBuilder("app")
    source = builder.add_source("a", Topic("a", TEXT, INT64))
    builder.add_processor("all", filter_(lambda k, v: True), source)
    topology = builder.build()
    tasks = {group.name: 1 for group in topology.groups}
    open_for_running(
        AppSettings("app", home_of(path)), topology, tasks, run="run", publish=lambda *_: None
    )


def test_start_removes_half_written_descriptions_and_scratch_of_dead_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path, dead = tmp_path / "checkpoint", tmp_path / "kstreams-scratch-1"
    _start(path)
    draft = path / ".app-0123.json"
    draft.write_text("{")
    dead.mkdir()
    (dead / "lock").touch()
    before = (path / "app.json").read_bytes()
    _start(path)
    assert not draft.exists()
    assert not dead.exists()
    assert (path / "app.json").read_bytes() == before
