"""The app of the kill tests with its lines in files.

Run it by `python -m tests.kill.files_app FOLDER`, as `tests.kill.counting_app`. It reads files in
`in` below the folder.
"""

from __future__ import annotations

from pathlib import Path

from kstreams import TEXT, Topology, TopologyBuilder
from kstreams.sources import Lines, folder
from tests.kill.counting_app import main, topics
from tests.support.apps.word_counter import COUNTS, count_words

__all__ = ("build",)


def build(name: str) -> Topology:
    builder = TopologyBuilder("kill")
    lines = folder("lines", Path("in"), Lines(TEXT), partitions=2)  # the app runs in its folder
    count_words(builder, lines, topics(name)[1], COUNTS)
    return builder.build()


if __name__ == "__main__":
    main(build)
