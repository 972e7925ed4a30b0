"""Each sink plugin has a module of common sink tests."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

OWN = {
    "kstreams_objects": "files: no server, no rows; tests/connectors/kstreams_objects",
    "kstreams_delta": "files and a log of commits; tests/connectors/kstreams_delta",
    "kstreams_iceberg": "files and a catalog; tests/connectors/kstreams_iceberg",
    "kstreams_sftp": "storage of files; tests/connectors/kstreams_sftp",
    "kstreams_rabbitmq": "the broker says where it is, past any proxy; kstreams_rabbitmq/test_sink",
}
"""Packages whose sinks have other tests."""

ROOT = Path(__file__).parents[2]
CONNECTORS = sorted(path.parent.name for path in ROOT.glob("connectors/kstreams_*/__init__.py"))


@pytest.mark.parametrize("package", CONNECTORS)
def test_each_sink_package_has_the_common_sink_tests(package: str) -> None:
    found = import_module(package)
    names: tuple[str, ...] = getattr(found, "__all__", ())
    sinks = [name for name in names if hasattr(getattr(found, name), "guarantee")]
    there = Path(__file__).with_name(package).joinpath("test_traps.py").is_file()
    assert there == (bool(sinks) and package not in OWN), sinks
