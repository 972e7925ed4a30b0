"""Creation of the emitter of a windowed aggregation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kstreams.processors.context import ProcessorContext
from kstreams.processors.emission import AtMostEvery, EachUpdate, Every, OncePerBatch, OnClose
from kstreams.record import Record
from kstreams.state.stores.emit_buffer.rows import EmitBufferRows
from kstreams.state.stores.rate_limit.rows import RateLimitRows
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.records.emission.at_once import FinalEmitter, UpdateEmitter
from kstreams.windows.records.emission.batch_end import BatchEndEmitter
from kstreams.windows.records.emission.emitter import Emitter
from kstreams.windows.records.emission.every import IntervalEmitter
from kstreams.windows.records.emission.rate_limit import RateLimitEmitter

__all__ = ("emitter_of",)


def emitter_of(plan: AggregationPlan, context: ProcessorContext[Any, Any]) -> Emitter:
    """Create the emitter of an aggregation; must be called in `init` of its node."""
    result, routes = plan.aggregator.result, plan.routes
    held: Any = plan.emission_store  # of the kind that the emission needs, if it needs one
    forward: Callable[[Record[Any, Any]], None] = (
        context.forward if routes is None else partial(context.forward_to, routes.results)
    )
    match plan.emit:
        case EachUpdate():
            return UpdateEmitter(result, forward)
        case OnClose():
            return FinalEmitter(result, forward)
        case OncePerBatch():
            return BatchEndEmitter(context, plan.store.key, result, forward)
        case Every(interval_ms=interval):
            buffer: EmitBufferRows[Any, Any] = EmitBufferRows.of(context.store(held))
            return IntervalEmitter(context, buffer, interval, result, forward)
        case AtMostEvery(interval_ms=interval):
            limits: RateLimitRows[Any, Any] = RateLimitRows.of(context.store(held))
            return RateLimitEmitter(context, limits, interval, result, forward)
