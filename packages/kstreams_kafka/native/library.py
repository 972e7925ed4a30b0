"""The two libraries: librdkafka's public functions, and the library of compiled loops."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

import confluent_kafka
import confluent_kafka.cimpl

__all__ = (
    "SWITCH",
    "Kernel",
    "KernelBinary",
    "KernelColumns",
    "KernelOutgoing",
    "KernelSizes",
    "Library",
    "library",
)

SWITCH = "KSTREAMS_KAFKA_COMPILED"
"""The environment variable: 0 disables the compiled loops, 1 fails if they are not available."""

_LEAST_LIBRDKAFKA = 0x020C0000
"""The minimum version: 2.12 fixes a double free of the headers of a rejected record."""

_P, _I32, _I64, _SIZE, _TEXT = (
    ctypes.c_void_p,
    ctypes.c_int32,
    ctypes.c_int64,
    ctypes.c_size_t,
    ctypes.c_char_p,
)

_LIBRDKAFKA: dict[str, tuple[Any, ...]] = {  # the result, then the arguments
    "abort_transaction": (_P, _P, _I32),
    "assign": (_I32, _P, _P),
    "begin_transaction": (_P, _P),
    "commit_transaction": (_P, _P, _I32),
    "conf_destroy": (None, _P),
    "conf_new": (_P,),
    "conf_set": (_I32, _P, _TEXT, _TEXT, _TEXT, _SIZE),
    "conf_set_dr_msg_cb": (None, _P, _P),
    "conf_set_error_cb": (None, _P, _P),
    "consumer_close": (_I32, _P),
    "consumer_group_metadata_destroy": (None, _P),
    "consumer_group_metadata_new": (_P, _TEXT),
    "destroy": (None, _P),
    "error_code": (_I32, _P),
    "error_destroy": (None, _P),
    "error_is_fatal": (_I32, _P),
    "error_is_retriable": (_I32, _P),
    "error_string": (_TEXT, _P),
    "error_txn_requires_abort": (_I32, _P),
    "event_destroy": (None, _P),
    "event_log": (_I32, _P, _P, _P, _P),
    "event_type": (_I32, _P),
    "flush": (_I32, _P, _I32),
    "init_transactions": (_P, _P, _I32),
    "message_destroy": (None, _P),
    "new": (_P, _I32, _P, _TEXT, _SIZE),
    "outq_len": (_I32, _P),
    "pause_partitions": (_I32, _P, _P),
    "poll": (_I32, _P, _I32),
    "poll_set_consumer": (_I32, _P),
    "purge": (_I32, _P, _I32),
    "queue_destroy": (None, _P),
    "queue_get_consumer": (_P, _P),
    "queue_new": (_P, _P),
    "queue_poll": (_P, _P, _I32),
    "resume_partitions": (_I32, _P, _P),
    "send_offsets_to_transaction": (_P, _P, _P, _P, _I32),
    "set_log_queue": (_I32, _P, _P),
    "topic_destroy": (None, _P),
    "topic_name": (_TEXT, _P),
    "topic_new": (_P, _P, _TEXT, _P),
    "topic_partition_list_add": (_P, _P, _TEXT, _I32),
    "topic_partition_list_destroy": (None, _P),
    "topic_partition_list_new": (_P, _I32),
    "topic_partition_list_set_offset": (_I32, _P, _TEXT, _I32, _I64),
}
_FOR_THE_KERNEL = (  # in the order of `functions` in kernel.c
    "consume_batch_queue",
    "message_destroy",
    "message_timestamp",
    "message_headers",
    "header_cnt",
    "header_get_all",
    "produceva",
    "error_code",
    "error_destroy",
    "headers_new",
    "header_add",
    "headers_destroy",
)


class KernelSizes(ctypes.Structure):
    """The numbers of rows, bytes and nulls in fetched messages: the struct `sizes` of kernel.c."""

    rows: int
    key_bytes: int
    value_bytes: int
    null_keys: int
    null_values: int
    headed: int
    headers: int
    name_bytes: int
    header_bytes: int
    _fields_ = [
        *((name, _I64) for name in ("rows", "key_bytes", "value_bytes")),
        *((name, _I64) for name in ("null_keys", "null_values")),
        *((name, _I64) for name in ("headed", "headers", "name_bytes", "header_bytes")),
    ]


class KernelColumns(ctypes.Structure):
    """The addresses of Arrow buffers to fill with messages: the struct `columns` of kernel.c."""

    _fields_ = [
        *((name, _P) for name in ("offset", "timestamp", "topic", "partition")),
        *((name, _P) for name in ("key_at", "key", "key_valid")),
        *((name, _P) for name in ("value_at", "value", "value_valid")),
        *((name, _P) for name in ("header_at", "headed", "name_at", "name")),
        *((name, _P) for name in ("header_value_at", "header_value", "header_value_valid")),
    ]


class KernelBinary(ctypes.Structure):
    """The buffers of a binary Arrow column to read: the struct `binary` of kernel.c."""

    _fields_ = [("at", _P), ("data", _P), ("valid", _P), ("valid_from", _I64)]


class KernelOutgoing(ctypes.Structure):
    """The Arrow buffers and the ids of rows to produce: the struct `outgoing` of kernel.c."""

    _fields_ = [
        ("topics", _P),
        ("topic", _P),
        ("partition", _P),
        ("timestamp", _P),
        ("key", KernelBinary),
        ("value", KernelBinary),
        ("header_at", _P),
        ("name", KernelBinary),
        ("header_value", KernelBinary),
        ("id_name", _TEXT),
        ("id_prefix", _TEXT),
        ("id_prefix_len", _I64),
        ("id_first", _I64),
    ]


class Kernel:
    """The compiled C functions that read and write batches of Kafka records, with typed calls.

    Args:
        kernel: The loaded library of these functions.
        librdkafka: The loaded librdkafka, which these functions call.

    Attributes:
        functions: The address of the table of librdkafka's functions, the first argument of each
            C function.

    Raises:
        AttributeError: A function is missing.
    """

    def __init__(self, kernel: ctypes.CDLL, librdkafka: ctypes.CDLL) -> None:
        addresses = [
            ctypes.cast(getattr(librdkafka, f"rd_kafka_{name}"), _P).value
            for name in _FOR_THE_KERNEL
        ]
        self._table = (_P * len(addresses))(*addresses)
        self.functions = ctypes.addressof(self._table)
        self.take = _typed(kernel.kk_take, _I64, _P, _P, _I32, _I64, _P, _P, _P)
        self.measure = _typed(kernel.kk_measure, None, _P, _P, _I64, _I64, _P)
        self.fill = _typed(kernel.kk_fill, None, _P, _P, _I64, _P)
        self.drop = _typed(kernel.kk_drop, None, _P, _P, _I64)
        self.produce = _typed(kernel.kk_produce, _I64, _P, _P, _P, _I64, _I64, _P)
        self.longest_prefix: int = _typed(kernel.kk_longest_prefix, _I64)()


class Library(Kernel):
    """Both libraries, loaded, with typed calls.

    Attributes:
        rk: librdkafka's functions, without their prefix.

    Raises:
        OSError: A library cannot be loaded.
        AttributeError: librdkafka lacks a required function.
    """

    def __init__(self, kernel: ctypes.CDLL) -> None:
        # The extension module is linked with librdkafka, so symbols of librdkafka are found through
        # it, wherever a wheel has put the library.
        loaded = ctypes.CDLL(confluent_kafka.cimpl.__file__)
        super().__init__(kernel, loaded)
        self.rk = _Functions(loaded)


class _Functions:
    def __init__(self, loaded: ctypes.CDLL) -> None:
        for name, (returned, *given) in _LIBRDKAFKA.items():
            setattr(self, name, _typed(getattr(loaded, f"rd_kafka_{name}"), returned, *given))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # a foreign function
        raise AttributeError(name)


def _typed(function: Any, returned: Any, *given: Any) -> Any:  # noqa: ANN401  # a foreign function
    function.restype, function.argtypes = returned, given
    return function


@cache
def library(compiled: bool | None = None) -> Library | None:
    """Return the libraries; None if the compiled loops are disabled or not available.

    Args:
        compiled: Whether to use the compiled loops. None uses the environment variable `SWITCH`
            (0 or 1); if the variable is not set, the loops are used if they are installed.

    Raises:
        ImportError: The compiled loops are required, but not available.
    """
    asked = os.environ.get(SWITCH, "") if compiled is None else "01"[compiled]
    if asked == "0":
        return None
    try:
        return _load()
    except (ImportError, OSError, AttributeError) as exc:
        if asked == "1":
            raise ImportError(
                f"the compiled loops for Kafka are required, but not available: {exc}\n"
                f"Hint: install kstreams-kafka-native, or leave out compiled=True and {SWITCH}=1."
            ) from exc
        return None


def _load() -> Library:
    import kstreams_kafka_native as native  # noqa: PLC0415  # it need not be there

    kernel = native.load()
    if native.VERSION != 1 or _typed(kernel.kk_version, _I32)() != native.VERSION:
        raise OSError("the interface of kstreams-kafka-native has another version, expected 1")
    name, version = confluent_kafka.libversion()
    if version < _LEAST_LIBRDKAFKA:
        raise OSError(f"librdkafka {name} is installed, expected 2.12 or newer")
    return Library(kernel)
