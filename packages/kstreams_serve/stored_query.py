"""Queries for encoded rows of one partition, for clients that decode rows themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from kstreams.quoting import repr_of
from kstreams.state.backend.working import Pair, WorkingStore
from kstreams.state.cache.times import FixedTimes
from kstreams_client.wire import Found, encode_found
from kstreams_serve.parameters import base64_bytes
from kstreams_serve.pinned_version import PinnedStores
from kstreams_serve.problems import Problem
from kstreams_serve.served_app import ServedStore
from kstreams_serve.settings import Limits
from kstreams_serve.version_parameters import as_of_in

__all__ = ("StoredQuery",)

_Look = Callable[[str, WorkingStore], "tuple[list[Pair], bool]"]


@dataclass(frozen=True)
class StoredQuery:
    """A query for keys, or a key range, of one partition; keys are bytes.

    Attributes:
        partition: The partition of the store.
        version: A batch or a savepoint; None is the newest.
        epoch: The epoch of the client's last read.
        look: Called with the name of the store and its rows; returns pairs of key and value, and
            whether no pairs follow.
    """

    partition: int
    version: int | str | None
    epoch: object
    look: _Look

    @classmethod
    def of(cls, body: Mapping[str, Any], store: ServedStore, limits: Limits) -> StoredQuery:
        """Parse the JSON body of a request.

        Raises:
            Problem: The body is invalid.
        """
        partition = body.get("partition")
        most = store.newest.partitions
        if (
            isinstance(partition, bool)
            or not isinstance(partition, int)
            or not 0 <= partition < most
        ):
            raise Problem(400, f"partition is {repr_of(partition, 40)}; expected 0 to {most - 1}")
        look = _fetched(body, limits) if "keys" in body else _scanned(body, limits)
        epoch = body.get("epoch", store.newest.epoch)
        return cls(partition, as_of_in(body, "version").version, epoch, look)

    async def answer(self, store: ServedStore) -> tuple[bytes, dict[str, str]]:
        """Return the rows in the format of `kstreams_client.wire`, and headers with their version.

        Raises:
            Problem: The app was reset or upgraded since the client's last read; or the partition is
                being restored.
            StoreError: The version is not retained.
            SavepointError: The savepoint does not exist.
        """
        self._check_epoch(store.newest.epoch)
        pin = await store.pin(self.version, (self.partition,))
        self._check_epoch(pin.epoch)  # it may have come while the partition was restored
        name = store.spec.name

        def found(rows: WorkingStore, times: FixedTimes) -> Found:
            pairs, ended = self.look(name, rows)
            return Found(pin.batch, times.wall_time, times.stream_time, ended, tuple(pairs))

        data = encode_found(pin.read_stored(self.partition, found))
        return data, PinnedStores({name: store}, {name: pin}).headers

    def _check_epoch(self, epoch: str) -> None:
        if self.epoch != epoch:
            raise Problem(
                412,
                "the app was reset or upgraded since the client requested the store's description",
                hint="request the description again.",
            )


def _fetched(body: Mapping[str, Any], limits: Limits) -> _Look:
    given = body["keys"]
    if not isinstance(given, list) or not 0 < len(given) <= limits.keys:
        raise Problem(400, f"keys must be a list of 1 to {limits.keys} items")
    keys = [_bytes(key, limits) for key in given]

    def look(name: str, rows: WorkingStore) -> tuple[list[Pair], bool]:
        found = list(zip(keys, rows.multi_get(name, keys), strict=True))
        size = sum(len(key) + len(value or b"") for key, value in found)
        if len(keys) > 1 and size > limits.answer_bytes:
            raise Problem(
                413, f"the rows of the keys exceed {limits.answer_bytes} bytes",
                hint="request fewer keys at once.",
            )  # fmt: skip
        return found, True

    return look


def _scanned(body: Mapping[str, Any], limits: Limits) -> _Look:
    start, end = (
        None if body.get(name) is None else _bytes(body[name], limits) for name in ("start", "end")
    )
    reverse, limit = body.get("reverse", False), body.get("limit", limits.rows)
    if not isinstance(reverse, bool) or not isinstance(limit, int) or limit < 1:
        raise Problem(400, "reverse must be true or false, and limit a number of 1 or more")

    def look(name: str, rows: WorkingStore) -> tuple[list[Pair], bool]:
        found: list[Pair] = []
        size = 0
        scan = rows.scan(name, start, end, reverse=reverse)
        for key, value in islice(scan, min(limit, limits.rows)):
            found.append((key, value))
            size += len(key) + len(value)
            if size >= limits.answer_bytes:
                break
        return found, next(scan, None) is None

    return look


def _bytes(given: object, limits: Limits) -> bytes:
    if not isinstance(given, str) or len(given) > 2 * limits.key_bytes:
        raise Problem(
            400, f"each key must be base64 text of at most {2 * limits.key_bytes} characters"
        )
    try:
        return base64_bytes(given)
    except ValueError as exc:
        raise Problem(400, "a key is not valid base64") from exc
