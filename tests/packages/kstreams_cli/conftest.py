"""Fixtures: every test begins in an empty directory, without the caller's environment variables."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("KSTREAMS_DATA", "KSTREAMS_BOOTSTRAP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        module = getattr(sys.modules[name], "__file__", None)
        if module is not None and Path(module).is_relative_to(tmp_path):
            del sys.modules[name]
