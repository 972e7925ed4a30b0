"""Find people who send much and receive little, with one table by person and a loop.

A message is keyed by its sender. The loop sends it to the task of its receiver, so that one table
counts the sent and received messages of each person.

python examples/message_detector.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kstreams import TEXT, Record, Topic, TopologyBuilder, rekey, timestamped_store
from kstreams.testing import TopologyTestDriver
from kstreams.topology import feed
from kstreams_json import json_serde


@dataclass(frozen=True)
class Tally:
    """The number of messages a person has sent and received."""

    sent: int = 0
    received: int = 0


MESSAGES = Topic("messages", key=TEXT, value=TEXT)  # from sender to receiver
SPAMMERS = Topic("spammers", key=TEXT, value=json_serde(Tally), nulls="pass")
TALLIES = timestamped_store("tallies", key=TEXT, value=json_serde(Tally))


def on_sent(old: Tally | None, _: Record[str, str]) -> Tally:
    """Count a message for its sender."""
    return replace(old or Tally(), sent=(old or Tally()).sent + 1)


def on_received(old: Tally | None, _: Record[str, str]) -> Tally:
    """Count a message for its receiver."""
    return replace(old or Tally(), received=(old or Tally()).received + 1)


builder = TopologyBuilder("message-detector")
sent = builder.add_source("sent", MESSAGES)
received = builder.add_loop("to-receiver", key=TEXT, value=TEXT, max_hops=1)
builder.close_loop(received, builder.add_processor("by-receiver", rekey(lambda _, to: to), sent))
tallies = builder.cogroup("tally", feed(sent, on_sent), feed(received, on_received), store=TALLIES)
suspects = builder.derive("suspects", tallies, lambda _, t: t if t.sent > t.received + 2 else None)
builder.add_sink("spammers-out", SPAMMERS, builder.to_stream("spammers", suspects))
topology = builder.build()

if __name__ == "__main__":
    with TopologyTestDriver(topology, partitions=3) as driver:
        for sender, to in [("eve", "ann"), ("eve", "bob"), ("ann", "bob"), ("eve", "joe")]:
            driver.pipe(MESSAGES, sender, to)
        print("tallies", {name: row[0] for name, row in driver.store_contents(TALLIES).items()})
        print("spammers", driver.read_values(SPAMMERS))
        driver.pipe(MESSAGES, "ann", "eve")
        print("and now", driver.read_values(SPAMMERS))
