"""W7: goka's filter. Messages of those who are not blocked go on to their receivers, translated.

A join with a table of the sender's, and a look-up in a table of all words.
"""

from __future__ import annotations

import pyarrow as pa

from benchmarks.suite.messages import BLOCKED, MESSAGES, TRANSLATIONS
from benchmarks.suite.workload import Expected, Workload


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
    title="goka's filter: a join with who is blocked, a look-up of a translation",
    dataset=MESSAGES,
    besides=(BLOCKED, TRANSLATIONS),
    shape="event",
    expected=expected,
    by_record=False,
)
