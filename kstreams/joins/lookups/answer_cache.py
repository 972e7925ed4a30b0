"""A worker's cache of a service's responses."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Generic
from weakref import WeakKeyDictionary

from kstreams.clock import to_ms
from kstreams.joins.lookups.service import A, LookupCache, Q, Service

__all__ = ("AnswerCache", "cache_of")


class AnswerCache(Generic[Q, A]):
    """An LRU cache of answers and of misses (questions without an answer), with times to live.

    Args:
        settings: The size of the cache, and the times to live.
    """

    def __init__(self, settings: LookupCache) -> None:
        self._most = settings.max_rows
        self._ttl = to_ms(settings.ttl)
        self._misses_ttl = to_ms(settings.misses_ttl)
        self._rows: OrderedDict[Q, tuple[int, tuple[A, ...]]] = OrderedDict()

    def known(self, questions: Iterable[Q], now_ms: int) -> dict[Q, tuple[A, ...]]:
        """Return, by question, a tuple with the cached answer; empty for a cached miss.

        Questions that are not in the cache, or have expired by `now_ms`, are omitted.
        """
        found: dict[Q, tuple[A, ...]] = {}
        for question in questions:
            row = self._rows.get(question)
            if row is not None and row[0] > now_ms:
                self._rows.move_to_end(question)
                found[question] = row[1]
        return found

    def remember(self, questions: Sequence[Q], found: dict[Q, A], now_ms: int) -> None:
        """Cache the answers to questions; a question that is not in `found` is a miss."""
        for question in questions:
            there = question in found
            until = now_ms + (self._ttl if there else self._misses_ttl)
            self._rows[question] = until, ((found[question],) if there else ())
            self._rows.move_to_end(question)
        while len(self._rows) > self._most:
            self._rows.popitem(last=False)


_caches: WeakKeyDictionary[Service[object, object], AnswerCache[object, object]] = (
    WeakKeyDictionary()
)


def cache_of(service: Service[Q, A]) -> AnswerCache[Q, A] | None:
    """Return the cache of a service, shared by all tasks of the process.

    Returns None if the service has no cache.
    """
    if service.cache is None:
        return None
    caches: WeakKeyDictionary[Service[Q, A], AnswerCache[Q, A]] = _caches  # type: ignore[assignment]
    found = caches.get(service)
    if found is None:
        found = caches[service] = AnswerCache(service.cache)
    return found
