"""Goka's filter: drop messages of blocked senders, and translate the words of the others.

python examples/message_filter.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kstreams import INT64, TEXT, Processor, ProcessorContext, Record, Topic, TopologyBuilder
from kstreams.stores import timestamped_store
from kstreams.testing import TopologyTestDriver
from kstreams_json import json_serde


@dataclass(frozen=True)
class Message:
    """A text for a receiver."""

    to: str
    text: str


SENT = Topic("sent", key=TEXT, value=json_serde(Message))
RECEIVED = Topic("received", key=TEXT, value=json_serde(Message))
BLOCKS = Topic("blocked", key=TEXT, value=INT64)
TRANSLATIONS = Topic("translations", key=TEXT, value=TEXT)
BLOCKED = timestamped_store("blocked", key=TEXT, value=INT64)
WORDS = timestamped_store("words", key=TEXT, value=TEXT)


class Filter(Processor[str, Message, str, Message]):
    """Forwards a message to its receiver."""

    def init(self, context: ProcessorContext[str, Message]) -> None:
        super().init(context)
        self.blocked, self.words = context.reader(BLOCKED), context.reader(WORDS)

    def process(self, record: Record[str, Message]) -> None:
        message = record.value
        if self.blocked.get(record.key) is None:
            text = " ".join(self.words.get(word) or word for word in message.text.split(" "))
            self.context.forward(Record(message.to, replace(message, text=text), record.timestamp))


builder = TopologyBuilder("messages")
builder.add_table("blocked", BLOCKS, store=BLOCKED)
builder.add_global_table("translations", TRANSLATIONS, store=WORDS)
sent = builder.add_source("sent", SENT)
filtered = builder.add_processor("filter", Filter, sent, reads=[BLOCKED, WORDS])
builder.add_sink("received", RECEIVED, filtered)
topology = builder.build()

if __name__ == "__main__":
    with TopologyTestDriver(topology, partitions=2) as driver:
        driver.pipe(TRANSLATIONS, "damn", "dear")
        driver.pipe(BLOCKS, "eve", 1)
        driver.pipe(SENT, "ann", Message("bob", "hello damn Bob"))
        driver.pipe(SENT, "eve", Message("bob", "buy this"))
        print([(message.key, message.value.text) for message in driver.read(RECEIVED)])
