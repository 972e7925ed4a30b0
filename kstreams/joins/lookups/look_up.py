"""Enrich records from an external service, with many distinct questions in each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic

from kstreams._types import K, V
from kstreams.errors import TopologyError
from kstreams.joins.joiner import VO, Joiner, OneSided
from kstreams.joins.lookups.answer_cache import cache_of
from kstreams.joins.lookups.service import A, Q, Service
from kstreams.joins.lookups.service_requests import ask_all
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.context import Origin, ProcessorContext
from kstreams.processors.supplier import StoreSupplier
from kstreams.record import Record
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.state.stores.spec import StoreSpec

__all__ = ("look_up",)

_Held = tuple[Record[Any, Any], Any, Origin]
"""A record, its question to the service (None if it needs no answer), and its origin."""


def look_up(
    service: Service[Q, A],
    joiner: Callable[[], Joiner[V, A, VO, OneSided]],
    *,
    by: Callable[[K, V], Q | None],
    store: StoreSpec[KeyValueStore[Q, A]] | None = None,
) -> StoreSupplier[K, V, K, VO]:
    """Join each record with the answer of an external service.

    Records wait until the end of their batch. Then the distinct questions are sent, up to
    `Service.batch` questions per call and `Service.at_once` concurrent calls, and the records are
    forwarded in their order. Calls have at-least-once semantics: a retried batch repeats them. A
    replay reuses answers only if they are in a store.

    If a call fails after all retries, the records with its questions fail: the `on_error` of their
    source handles each of them, and other records of the batch continue. Effects of a failed record
    at upstream nodes remain. Null values are dropped as `null-value`.

    Args:
        service: The service, with its limits, retries and cache.
        joiner: With `inner(f)` a record without an answer gives no result, and is not counted as
            dropped; with `left(f)` the function receives None.
        by: Returns a hashable question from key and value, or None for no question: then a left
            join passes None to the function, and an inner join drops the record as `null-question`.
        store: The store of answers, a `key_value_store` by question, best with a `ttl` and
            `ttl_clock="wall"`: answers then survive restarts, and replays and views can read them.
            Each task has its own partition of the store. Misses are not stored.

    Raises:
        TopologyError: The joiner is an outer one.

    Source: Flink's asynchronous I/O and lookup join; Kafka Streams has no equivalent.
    """
    made = joiner()
    if made.how == "outer":
        raise TopologyError(
            "look_up: there is no outer join with a service", hint="pass left(...) or inner(...)."
        )
    return _LookUp(service, made, by, store)


@dataclass(frozen=True)
class _LookUp(Generic[K, V, VO]):
    service: Service[Any, Any]
    joiner: Joiner[V, Any, VO, OneSided]
    by: Callable[[Any, Any], Any]
    store: StoreSpec[Any] | None

    def __call__(self) -> _Asking[K, V, VO]:
        """Return a new processor."""
        return _Asking(self)

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store of answers, if there is one."""
        return () if self.store is None else (self.store,)


class _Asking(ClosureProcessor[K, V, K, VO]):
    calls_outside: ClassVar[bool] = True
    keeps_key: ClassVar[bool] = True

    def __init__(self, definition: _LookUp[K, V, VO]) -> None:
        self._definition = definition

    def bind(self, context: ProcessorContext[K, VO]) -> Callable[[Record[K, V]], None]:
        definition, drop = self._definition, context.drop
        self._answers: KeyValueStore[Any, Any] | None = (
            None if definition.store is None else context.store(definition.store)
        )
        by, inner = definition.by, definition.joiner.how == "inner"
        take: Callable[[_Held], None] = context.hold(self._release)
        origin = context.origin

        def process(record: Record[K, V]) -> None:
            if record.value is None:
                drop("null-value")
                return
            question = by(record.key, record.value)
            if question is None and inner:
                drop("null-question")
                return
            take((record, question, origin()))

        return process

    def _release(self, held: Sequence[_Held]) -> None:
        """Call the service for the buffered records, and forward the results in record order.

        Args:
            held: Each buffered record, with its question (None for no question) and its origin.
        """
        questions = list(dict.fromkeys(question for _, question, _ in held))
        known, failed = self._known([q for q in questions if q is not None])
        join, inner = self._definition.joiner.function, self._definition.joiner.how == "inner"
        for record, question, origin in held:
            if question in failed:
                origin.fail(failed[question])
                continue
            answer = known.get(question, ())
            if inner and not answer:
                continue
            try:
                value = join(record.value, answer[0] if answer else None)
            except KeyboardInterrupt:
                raise
            except BaseException as exc:  # noqa: BLE001  # user code, which may also exit
                origin.fail(exc)
                continue
            self.context.forward(record.with_value(value))

    def _known(
        self, questions: list[Any]
    ) -> tuple[dict[Any, tuple[Any, ...]], dict[Any, BaseException]]:
        """Return the answers and the errors by question.

        Only questions that are neither in the store nor in the cache are sent to the service.
        """
        known: dict[Any, tuple[Any, ...]] = {}
        store, now_ms = self._answers, self.context.wall_time
        if store is not None:
            rows = zip(questions, store.get_many(questions), strict=True)
            known = {question: (row,) for question, row in rows if row is not None}
        cache = cache_of(self._definition.service)
        if cache is not None:
            known |= cache.known([q for q in questions if q not in known], now_ms)
        asked = [question for question in questions if question not in known]
        answers = ask_all(self._definition.service, asked)
        known |= {question: (answer,) for question, answer in answers.found.items()}
        if cache is not None:
            answered = [question for question in asked if question not in answers.failed]
            cache.remember(answered, answers.found, now_ms)
        if store is not None and answers.found:
            store.put_many(list(answers.found), list(answers.found.values()))
        return known, dict(answers.failed)
