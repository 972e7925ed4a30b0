"""W7: goka's filter. Messages of users who are not blocked go to their receivers, translated.

A join with a table keyed by sender, and a lookup in a global table of translations.
"""

from __future__ import annotations

import msgspec
import pyarrow as pa

from benchmarks.suite.messages import BLOCKED, MESSAGE, MESSAGES, TRANSLATIONS, Message
from benchmarks.suite.workload import Execution, Expected, Workload
from kstreams import TEXT, Topic, Topology, TopologyBuilder, filter_, map_
from kstreams.joins import left
from kstreams.stores import timestamped_store
from kstreams_json import json_serde


class Received(msgspec.Struct):
    """A message on arrival: the time of its sending, and its text."""

    start: int
    value: str


def allowed(message: Message, blocked: str | None) -> Message | None:
    return message if blocked is None else None


def translated(message: Message | None, translation: str | None) -> Message:
    assert message is not None  # noqa: S101  # None is filtered out
    return msgspec.structs.replace(message, text=translation or message.text)


def topology(
    messages: str, blocked: str, translations: str, sink: str, execution: Execution
) -> Topology:
    builder = TopologyBuilder("w7")
    names = timestamped_store("blocked", key=TEXT, value=TEXT)
    table = builder.add_table("blocked", Topic(blocked, TEXT, TEXT), store=names)
    meanings = timestamped_store("words", key=TEXT, value=TEXT)
    words = builder.add_global_table("words", Topic(translations, TEXT, TEXT), store=meanings)
    sent = builder.add_source("sent", Topic(messages, TEXT, MESSAGE))
    known = builder.join_table("known", sent, table, left(allowed), execution=execution)
    passed = builder.add_processor("passed", filter_(lambda _, m: m is not None), known)
    said = builder.join_global(
        "said", passed, words, left(translated), by=lambda _, m: m.text if m else None
    )
    received = builder.add_processor(
        "received", map_(lambda _, m: (m.to, Received(m.at, m.text))), said
    )
    builder.add_sink("received-out", Topic(sink, TEXT, json_serde(Received)), received)
    return builder.build()


def expected(messages: pa.Table, blocked: pa.Table, translations: pa.Table) -> Expected:
    gone = set(blocked.column("key").to_pylist())
    meaning = dict(
        zip(*(translations.column(name).to_pylist() for name in ("word", "to")), strict=True)
    )
    columns = (messages.column(name).to_pylist() for name in ("key", "to", "text", "timestamp"))
    return {
        (receiver.encode(), time, 0): (meaning.get(word, word), time)
        for sender, receiver, word, time in zip(*columns, strict=True)
        if sender not in gone
    }


WORKLOAD = Workload(
    name="W7",
    title="goka's filter: a join with blocked users, a look-up of a translation",
    dataset=MESSAGES,
    besides=(BLOCKED, TRANSLATIONS),
    shape="event",
    expected=expected,
    topology=topology,
    records=2_000_000,
)
