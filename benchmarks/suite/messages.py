"""Messages of one word between users, blocked users, and words with translations.

Blocked users and translations are older than the first message, and do not change. Every second
word has a translation, and every twentieth user is blocked.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.suite.clicks import GAP_MS
from benchmarks.suite.dataset import DAY_MS, START_MS, Dataset
from benchmarks.suite.users import users_of
from benchmarks.suite.zipf import zipf
from kstreams_json import json_serde

__all__ = ("BLOCKED", "MESSAGE", "MESSAGES", "TRANSLATIONS", "Message", "messages")

_BLOCKED_EVERY, _BLOCKED_FIRST = 20, 7
_MESSAGES_A_WORD = 60

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


def messages(count: int, random: np.random.Generator) -> pa.Table:
    """Draw messages: key (the sender), value, timestamp, `to`, `text`."""
    users = users_of(count)
    sender, receiver = _user(zipf(random, count, users)), _user(zipf(random, count, users))
    word = _name("word", zipf(random, count, 2 * _words_of(count)))
    times = START_MS + np.arange(count, dtype=np.int64) * GAP_MS
    values = pc.binary_join_element_wise(
        '{"from":"', sender, '","to":"', receiver, '","text":"', word, '","at":',
        pa.array(times).cast(pa.string()), "}", "",
    )  # fmt: skip
    columns = {"key": sender.cast(pa.binary()), "value": values.cast(pa.binary())}
    return pa.table({**columns, "timestamp": times, "to": receiver, "text": word})


def blocked(messages: int, random: np.random.Generator) -> pa.Table:
    """Return the blocked users: key, value, timestamp."""
    users = np.arange(_BLOCKED_FIRST, users_of(messages) + 1, _BLOCKED_EVERY, dtype=np.int64)
    return _rows(_user(random.permutation(users)), pa.array(["1"] * len(users)))


def translations(messages: int, random: np.random.Generator) -> pa.Table:
    """Return the words with a translation: key, value, timestamp, `word`, `translation`."""
    words = random.permutation(np.arange(2, 2 * _words_of(messages) + 1, 2, dtype=np.int64))
    word, translation = _name("word", words), _name("Wort", words)
    return _rows(word, translation).append_column("word", word).append_column("to", translation)


def _rows(key: pa.Array, value: pa.Array) -> pa.Table:
    times = START_MS - DAY_MS + np.arange(len(key), dtype=np.int64)
    columns = {"key": key.cast(pa.binary()), "value": value.cast(pa.binary())}
    return pa.table({**columns, "timestamp": times})


def _user(numbers: Numbers) -> pa.Array:
    return _name("user", numbers)


def _name(kind: str, numbers: Numbers) -> pa.Array:
    return pc.binary_join_element_wise(kind, pa.array(numbers).cast(pa.string()), "-")


def _words_of(messages: int) -> int:
    return max(10, min(10_000, messages // _MESSAGES_A_WORD))


def _blocked_of(messages: int) -> int:
    return len(range(_BLOCKED_FIRST, users_of(messages) + 1, _BLOCKED_EVERY))


MESSAGES = Dataset("messages", messages, filler=b'{"from":"","to":"~end-","text":"","at":0}')
BLOCKED = Dataset("blocked", blocked, filler=b"0", size=_blocked_of)
TRANSLATIONS = Dataset("translations", translations, filler=b"", size=_words_of)


class Message(msgspec.Struct):
    """The fields of a message's JSON; the sender is the key."""

    to: str
    text: str
    at: int


MESSAGE = json_serde(Message)
