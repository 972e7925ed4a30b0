"""The version of stores that a request reads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from kstreams.views.pinned import Pinned
from kstreams.views.store_reads import StoreReads
from kstreams_admin.moments import iso
from kstreams_serve.problems import Problem
from kstreams_serve.served_app import ServedApp, ServedStore
from kstreams_serve.settings import Limits
from kstreams_serve.version_parameters import AsOf

__all__ = ("PinnedStores", "pinned_stores")

_ATTEMPTS = 20
_TAG_CHARS = 12
_KNOWN = 64


@dataclass(frozen=True)
class PinnedStores:
    """Stores of one query, all at one version.

    Attributes:
        stores: The stores by name.
        pins: The pinned version of each store, by store name.
    """

    stores: Mapping[str, ServedStore]
    pins: Mapping[str, Pinned[Any]]

    @property
    def _one(self) -> Pinned[Any]:
        return next(iter(self.pins.values()))

    @property
    def batch(self) -> int | None:
        """The batch of the version; None before the first commit."""
        return self._one.batch

    @property
    def epoch(self) -> str:
        """The epoch of the versions, which changes with a reset or an upgrade."""
        return self._one.epoch

    @property
    def wall_ms(self) -> int | None:
        """The time of the commit, ms since the epoch by the app's clock."""
        return self._one.wall_ms

    def reads(self, store: str) -> StoreReads[Any]:
        """Return the read methods of a store at the pinned version."""
        return StoreReads(self.stores[store].spec, self.pins[store])

    @property
    def tag(self) -> str:
        """A text, without quotes, that identifies the version; unique even after a reset."""
        return _tag(self.epoch, self.batch)

    @property
    def headers(self) -> dict[str, str]:
        """The response headers that identify the version."""
        one = self._one
        return dict(_headers(one.batch, one.wall_ms))


@lru_cache(_KNOWN)  # many ask for the version that is the newest
def _tag(epoch: str, batch: int | None) -> str:
    name = sha256(epoch.encode()).hexdigest()[:_TAG_CHARS]
    return f"{name}.{'none' if batch is None else batch}"


@lru_cache(_KNOWN)
def _headers(batch: int | None, wall_ms: int | None) -> Mapping[str, str]:
    found = {"Kstreams-Version": "none" if batch is None else str(batch)}
    if wall_ms is not None:
        found["Kstreams-Committed-At"] = iso(wall_ms)
    return found


async def pinned_stores(
    app: ServedApp,
    stores: Sequence[ServedStore],
    as_of: AsOf,
    limits: Limits,
    partitions: Sequence[int] | None = None,
) -> PinnedStores:
    """Return stores, all pinned at one version.

    Args:
        app: The app.
        stores: One store, or several of one query.
        as_of: The version.
        limits: The limits of the server.
        partitions: The partitions of a single store to read; None is all.

    Raises:
        Problem: The stores belong to several queries; or the version is not committed in time; or
            partitions are being restored.
        StoreError: The version is not retained.
        SavepointError: The savepoint does not exist.
    """
    if len({store.newest.place.query for store in stores}) > 1:
        raise Problem(
            400,
            "the stores belong to several queries, which have no common version",
            hint="send one request per query.",
        )
    named = {store.spec.name: store for store in stores}
    if as_of.least is not None:
        await _committed(app, stores, as_of.least, limits)
    version = as_of.version
    if as_of.at_ms is not None:
        version = await stores[0].batch_at(as_of.at_ms)
    for _ in range(_ATTEMPTS):
        at = _common(stores) if version is None and len(stores) > 1 else version
        pins = {name: await store.pin(at, partitions) for name, store in named.items()}
        if len({(pin.epoch, pin.batch) for pin in pins.values()}) == 1:
            return PinnedStores(named, pins)
        await app.moved(limits.slice_seconds)
    raise Problem(
        503,
        "the app commits faster than the stores can be read at one version",
        headers={"Retry-After": "1"},
    )


def _common(stores: Sequence[ServedStore]) -> int | None:
    """Return the newest version that all stores have; None if a store has no version yet."""
    versions = [store.newest.version for store in stores]
    known = [version for version in versions if version is not None]
    return min(known) if len(known) == len(versions) else None


async def _committed(
    app: ServedApp, stores: Sequence[ServedStore], least: int, limits: Limits
) -> None:
    """Wait until the newest version of each store is at least this batch."""
    loop = asyncio.get_running_loop()
    until = loop.time() + limits.wait_seconds
    while any(s.newest.version is None or s.newest.version < least for s in stores):
        left = until - loop.time()
        if left <= 0 or not await app.moved(left):
            raise Problem(
                504, f"version {least} was not committed within {limits.wait_seconds:g} s"
            )
