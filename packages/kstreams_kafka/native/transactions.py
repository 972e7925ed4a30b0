"""Transactions of a producer that was made by ctypes."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from kstreams_kafka.librdkafka import KafkaError, KafkaException
from kstreams_kafka.outgoing import Transactions

__all__ = ("NativeTransactions",)


class NativeTransactions(Transactions):
    """Implements `Transactions` with librdkafka's C functions.

    Args:
        rk: librdkafka's functions, without their prefix.
        address: The address of the producer.
    """

    def __init__(self, rk: Any, address: int) -> None:  # noqa: ANN401  # foreign functions
        self._rk = rk
        self._address = address

    @override
    def init(self, timeout_s: float) -> None:
        self._check(self._rk.init_transactions(self._address, _ms(timeout_s)))

    @override
    def begin(self) -> None:
        self._check(self._rk.begin_transaction(self._address))

    @override
    def add_offset(
        self, group: str, topic: str, partition: int, offset: int, timeout_s: float
    ) -> None:
        rk = self._rk
        offsets, owner = (
            rk.topic_partition_list_new(1),
            rk.consumer_group_metadata_new(group.encode()),
        )
        try:
            rk.topic_partition_list_add(offsets, topic.encode(), partition)
            rk.topic_partition_list_set_offset(offsets, topic.encode(), partition, offset)
            self._check(
                rk.send_offsets_to_transaction(self._address, offsets, owner, _ms(timeout_s))
            )
        finally:
            rk.topic_partition_list_destroy(offsets)
            rk.consumer_group_metadata_destroy(owner)

    @override
    def commit(self, timeout_s: float) -> None:
        self._check(self._rk.commit_transaction(self._address, _ms(timeout_s)))

    @override
    def abort(self, timeout_s: float) -> None:
        self._check(self._rk.abort_transaction(self._address, _ms(timeout_s)))

    def _check(self, error: int | None) -> None:
        if not error:
            return
        rk = self._rk
        found = KafkaError(
            rk.error_code(error),
            (rk.error_string(error) or b"").decode(errors="replace"),
            fatal=bool(rk.error_is_fatal(error)),
            retriable=bool(rk.error_is_retriable(error)),
            txn_requires_abort=bool(rk.error_txn_requires_abort(error)),
        )
        rk.error_destroy(error)
        raise KafkaException(found)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
