"""Writes a line per second to the topic of `count_words.py`, until it is stopped.

LIMIT, an environment variable, is the number of lines after which it ends.
"""

from __future__ import annotations

import itertools
import os
import time

from count_words import LINES, TOPICS
from words_pb2 import Line

from kstreams import Emitter

TEXTS = (
    "The stream runs to the sea.",
    "A table is a stream, and a stream is a table.",
    "State counts only if a committed pointer refers to it.",
    "No record is lost, and no record is counted twice.",
)
PAUSE_S = 1.0


def main() -> None:
    limit = int(os.environ.get("LIMIT", "0"))
    numbers = range(limit) if limit else itertools.count()
    for number in numbers:
        with Emitter(LINES, TOPICS) as emitter:
            emitter.emit(b"%d" % number, Line(text=TEXTS[number % len(TEXTS)]))
        if not limit:
            time.sleep(PAUSE_S)


if __name__ == "__main__":
    main()
