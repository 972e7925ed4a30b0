"""The app of the kill tests around loops:

each word passes the loop several times, and counts each time.

Run it by `python -m tests.kill.looping_app FOLDER`, as `tests.kill.counting_app`. A loop leads
from the second stage back to the first.
"""

from __future__ import annotations

from functools import partial

from kstreams import INT64, TEXT, Processor, ProcessorContext, Record, Topology, TopologyBuilder
from kstreams.operators import flat_map
from kstreams.stores import KeyValueStore, StoreSpec
from tests.kill.counting_app import main, topics
from tests.support.apps.word_counter import COUNTS

__all__ = ("HOPS",)

HOPS = 3
"""Number of times each word passes the loop."""


class CountRounds(Processor[str, int, str, int]):
    """Counts each word, and forwards it while it has rounds left."""

    def __init__(self, store: StoreSpec[KeyValueStore[str, int]]) -> None:
        self.store = store

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.counts = context, context.store(self.store)

    def process(self, record: Record[str, int]) -> None:
        total = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, total)
        self.context.forward_to("totals", record.with_value(total))
        if record.value:
            self.context.forward_to("again.close", record.with_value(record.value - 1))


def words_of(_: bytes, line: str) -> list[tuple[str, int]]:
    return [(word, HOPS) for word in line.split()]


def build(name: str) -> Topology:
    lines, totals = topics(name)
    builder = TopologyBuilder("kill")
    again = builder.add_loop("again", key=TEXT, value=INT64, max_hops=HOPS)
    words = builder.add_processor("split", flat_map(words_of), builder.add_source("lines", lines))
    merged = builder.merge("merged", words, again)
    by_word = builder.repartition("by-word", merged, key=TEXT, value=INT64)
    store = COUNTS.with_changelog(f"{name}-counts")
    counts = builder.add_processor("count", partial(CountRounds, store), by_word, stores=[store])
    builder.add_sink("totals", totals, counts)
    builder.close_loop(again, counts)
    return builder.build()


if __name__ == "__main__":
    main(build)
