"""A client of librdkafka, made by ctypes: its options, its log and its own errors."""

from __future__ import annotations

import ctypes
import logging
from collections import deque
from collections.abc import Mapping
from typing import Any

from kstreams_kafka.client_log import ClientLog
from kstreams_kafka.librdkafka import KafkaError, KafkaException
from kstreams_kafka.native.library import Library

__all__ = ("CONSUMER", "PRODUCER", "NativeClient")

PRODUCER, CONSUMER = 0, 1
"""The client types of librdkafka: `rd_kafka_type_t`."""

_OK = 0
_LOG_EVENT = 0x4
_TEXT_BYTES = 512
_LEVELS = (  # syslog's, as librdkafka has them
    *(logging.CRITICAL,) * 3,
    logging.ERROR,
    logging.WARNING,
    logging.INFO,
    logging.INFO,
    logging.DEBUG,
)
_SAY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


class NativeClient:
    """A librdkafka handle, which `close` destroys.

    Callbacks run in the thread that polls, and are rare: one for each error of the client, not for
    each record.

    Args:
        library: The compiled loops and librdkafka.
        kind: `PRODUCER` or `CONSUMER`.
        options: librdkafka's options, as text.
        client_errors: Receives the client's own errors.
        log: Receives the client's log lines.
        on_delivery: A ctypes callback for records that were not delivered.

    Raises:
        KafkaException: librdkafka does not know an option or its value.
    """

    def __init__(
        self,
        library: Library,
        kind: int,
        options: Mapping[str, str],
        *,
        client_errors: deque[KafkaError],
        log: ClientLog,
        on_delivery: Any = None,  # noqa: ANN401  # a ctypes callback
    ) -> None:
        self._rk = library.rk
        self._log = log
        # Kept as long as librdkafka may call them. They hold no owner, which would not be freed.
        self._callbacks = (
            _SAY(lambda _, code, text, __: client_errors.append(KafkaError(code, _text(text)))),
            on_delivery,
        )
        self.address = self._new(kind, {"log.queue": "true", **options})
        self._logs = self._rk.queue_new(self.address)
        self._rk.set_log_queue(self.address, self._logs)

    def _new(self, kind: int, options: Mapping[str, str]) -> int:
        rk, text = self._rk, ctypes.create_string_buffer(_TEXT_BYTES)
        conf = rk.conf_new()
        for name, value in options.items():
            if rk.conf_set(conf, name.encode(), value.encode(), text, _TEXT_BYTES) != _OK:
                rk.conf_destroy(conf)
                raise KafkaException(KafkaError(KafkaError._INVALID_ARG, _text(text.value)))
        say, on_delivery = self._callbacks
        rk.conf_set_error_cb(conf, ctypes.cast(say, ctypes.c_void_p))
        if on_delivery is not None:
            rk.conf_set_dr_msg_cb(conf, ctypes.cast(on_delivery, ctypes.c_void_p))
        made: int | None = rk.new(kind, conf, text, _TEXT_BYTES)
        if not made:
            rk.conf_destroy(conf)
            raise KafkaException(KafkaError(KafkaError._INVALID_ARG, _text(text.value)))
        return made

    def pass_logs_on(self) -> None:
        """Log the client's log lines since the last call."""
        rk = self._rk
        while event := rk.queue_poll(self._logs, 0):
            if rk.event_type(event) == _LOG_EVENT:
                facility, text, level = ctypes.c_char_p(), ctypes.c_char_p(), ctypes.c_int()
                rk.event_log(event, ctypes.byref(facility), ctypes.byref(text), ctypes.byref(level))
                self._log.log(
                    _LEVELS[min(level.value, len(_LEVELS) - 1)],
                    "%s %s",
                    _text(facility.value),
                    _text(text.value),
                )
            rk.event_destroy(event)

    def close(self) -> None:
        """Close connections and threads, and free memory; call it once."""
        self.pass_logs_on()
        self._rk.set_log_queue(self.address, None)
        self._rk.queue_destroy(self._logs)
        self._rk.destroy(self.address)


def _text(data: bytes | None) -> str:
    return (data or b"").decode(errors="replace")
