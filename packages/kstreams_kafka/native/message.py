"""A message in librdkafka's memory."""

from __future__ import annotations

import ctypes
from typing import Any

from kstreams_kafka.librdkafka import KafkaError

__all__ = ("NativeMessage",)


class NativeMessage(ctypes.Structure):
    """librdkafka's `rd_kafka_message_t`, which is valid until the message is destroyed."""

    _fields_ = [
        ("err", ctypes.c_int32),
        ("topic", ctypes.c_void_p),
        ("partition", ctypes.c_int32),
        ("payload", ctypes.c_void_p),
        ("len", ctypes.c_size_t),
        ("key", ctypes.c_void_p),
        ("key_len", ctypes.c_size_t),
        ("offset", ctypes.c_int64),
        ("opaque", ctypes.c_void_p),
    ]

    err: int
    partition: int
    offset: int

    def error(self, *, has_text: bool = False) -> KafkaError:
        """Return the error of the message.

        Args:
            has_text: Whether the payload is the text of the error, as for errors of consumers.
        """
        text = ctypes.string_at(self.payload, self.len) if has_text and self.payload else b""
        if not text:
            return KafkaError(self.err)
        return KafkaError(self.err, text.decode(errors="replace"))

    def topic_name(self, rk: Any) -> str:  # noqa: ANN401  # foreign functions
        """Return the name of the topic; `rk` has librdkafka's functions."""
        name: bytes = rk.topic_name(self.topic) if self.topic else b""
        return name.decode()

    def key_bytes(self) -> bytes | None:
        """Return the key of the message; None for a null key."""
        return ctypes.string_at(self.key, self.key_len) if self.key else None
