"""Backends named on the command line."""

from __future__ import annotations

import pytest

from kstreams_cli import backends
from kstreams_cli.backends import state_backend
from kstreams_cli.usage import WrongUsageError


def test_state_backend_is_created_by_name() -> None:
    assert state_backend("memory").name == "memory"
    assert state_backend("rocksdb").name == "rocksdb"


def test_unknown_backend_suggests_similar_names() -> None:
    with pytest.raises(WrongUsageError, match="did you mean 'rocksdb'"):
        state_backend("rocksbd")


def test_name_of_durable_log_is_refused_as_state_backend() -> None:
    with pytest.raises(WrongUsageError, match=r"state=RocksDB\(log=S3\(\.\.\.\)\)"):
        state_backend("s3")


def test_backend_of_an_extra_that_is_not_installed_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backends, "plugin_names", lambda _: ("memory",))
    monkeypatch.setattr(backends, "missing_extra", lambda name: name)

    with pytest.raises(WrongUsageError, match=r"pip install 'kstreams-spark\[rocksdb\]'"):
        state_backend("rocksdb")
