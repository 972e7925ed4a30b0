"""Messages as pandas frames, which Spark's stateful operators for Python require."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pandas as pd

from kstreams.spark.frames.messages import Message

__all__ = ("frame_of", "messages_of")


def messages_of(frames: Iterable[pd.DataFrame]) -> Iterator[Message]:
    """Return the messages of frames with the schema `MESSAGE`, one per row.

    Args:
        frames: The frames of one group, as Spark passes them.
    """
    for frame in frames:
        for key, wall_ms, payload in zip(
            frame["key"], frame["wall"], frame["payload"], strict=True
        ):
            yield Message(int(key), int(wall_ms), bytes(payload))


def frame_of(messages: Sequence[Message]) -> pd.DataFrame:
    """Return messages as a pandas frame with the schema `MESSAGE`, one per row."""
    keys, walls, payloads = zip(*messages, strict=True) if messages else ((), (), ())
    return pd.DataFrame(
        {
            "key": pd.Series(keys, dtype="int32"),
            "wall": pd.Series(walls, dtype="int64"),
            "payload": pd.Series(payloads, dtype="object"),
        }
    )
