"""The app of the crash matrix with its input in files: a line for each record."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from kstreams import TEXT, Topic, Topology, TopologyBuilder
from kstreams.operators import map_
from kstreams.sources import Lines, MoveTo, WhenRead, folder
from tests.support.crash.marking_app import COUNTS, LAST, MARKS, PARTITIONS, Mark

__all__ = ("MOVE", "append_file", "marking_files")

MOVE = MoveTo("_done")


def append_file(home: Path, records: Sequence[tuple[str, str]], number: int) -> None:
    """Write a batch of records to a new file."""
    place = home / "in"
    place.mkdir(exist_ok=True)
    if records:
        file = place / f"{number:06}.txt"
        file.with_suffix(".part").write_text("\n".join(f"{key}={value}" for key, value in records))
        os.utime(file.with_suffix(".part"), (number + 1, number + 1))
        file.with_suffix(".part").rename(file)


def marking_files(home: Path, marks: Topic[str, str], when_read: WhenRead = MOVE) -> Topology:
    """Build files -> keyed -> mark -> marks, with a policy for committed files."""
    builder = TopologyBuilder("marking")
    log = folder("words", home / "in", Lines(TEXT), partitions=PARTITIONS, when_read=when_read)
    words = builder.add_processor("keyed", map_(_keyed), builder.add_source("words", log))
    edge = builder.repartition("by-key", words, key=TEXT, value=TEXT)
    node = builder.add_processor("mark", Mark, edge, stores=[LAST, COUNTS, MARKS])
    builder.add_sink("marks", marks, node)
    return builder.build()


def _keyed(_key: None, line: str) -> tuple[str, str]:
    key, _, value = line.partition("=")
    return key, value
