"""Each sink that is a plugin has a row in the table of traps."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

OWN = {
    "kstreams_objects": "files: no server, no rows; tests/connectors/kstreams_objects",
    "kstreams_delta": "files and a log of commits; tests/connectors/kstreams_delta",
    "kstreams_iceberg": "files and a catalog; tests/connectors/kstreams_iceberg",
    "kstreams_rabbitmq": "the broker says where it is, past any proxy; kstreams_rabbitmq/test_sink",
}
"""Sinks whose traps are others."""

SINKS = sorted(
    {
        each.value.partition(":")[0]
        for each in entry_points(group="kstreams.connectors")
        if hasattr(each.load(), "guarantee")
    }
)


@pytest.mark.parametrize("package", SINKS)
def test_a_sink_has_its_row_in_the_table(package: str) -> None:
    there = Path(__file__).with_name(package).joinpath("test_traps.py").is_file()
    assert there != (package in OWN)
