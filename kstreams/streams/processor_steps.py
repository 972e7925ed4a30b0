"""Steps of a stream that run a processor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kstreams._types import K2, V2, K, V
from kstreams.errors import TopologyError
from kstreams.graph.nodes import Node
from kstreams.graph.tokens import type_arguments, without_none
from kstreams.joins.join_processor import JoinProcessor
from kstreams.options import checks_options
from kstreams.processors.deduplicate import HeaderId, KeyId, LatePolicy, deduplicate
from kstreams.processors.processor import BaseProcessor, BatchProcessor, Processor
from kstreams.processors.supplier import stores_of
from kstreams.processors.window_emission import delays
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.text import BYTES
from kstreams.state.stores.spec import StoreSpec
from kstreams.stored_names import dashed
from kstreams.streams.checks import KEY_AND_VALUE
from kstreams.streams.functions import may_be_none, name_of
from kstreams.streams.join_steps import JoinSteps
from kstreams.streams.serdes import KnownSerde, needed
from kstreams.streams.stream_base import StreamBase

if TYPE_CHECKING:
    from kstreams.streams.stream import Stream

__all__ = ("ProcessorSteps",)

ID = TypeVar("ID")
"""The type of the ids of records."""
V3 = TypeVar("V3")
"""The type of the values of the other stream."""
_Stores = Sequence[StoreSpec[object]]


class ProcessorSteps(JoinSteps[K, V]):
    """The steps of a stream that run a processor."""

    def process(
        self,
        supplier: Callable[[], BaseProcessor[K, V, K2, V2]],
        *,
        stores: _Stores = (),
        reads: _Stores = (),
        key: Serde[K2] | None = None,
        value: Serde[V2] | None = None,
    ) -> Stream[K2, V2]:
        """Process the records with a processor: a class, or an operator such as `call_async(ask)`.

        A processor with stores, or with tables to read, gets equal keys in one task.

        Args:
            supplier: Returns a new processor at each call.
            stores: Definitions of further stores; see `TopologyBuilder.add_processor`.
            reads: Stores of tables that the processor reads.
            key: The serde of the forwarded keys.
            value: The serde of the forwarded values.

        Raises:
            TopologyError: The supplier returns no processor.

        Source: `KStream#process`, `KStream#processValues`.
        """
        call = self._call("process", supplier)
        return self._run(call, supplier, None, stores, reads, key, value)

    def process_with(
        self,
        other: Stream[K, V3],
        supplier: Callable[[], JoinProcessor[K, V, V3, K2, V2]],
        *,
        stores: _Stores = (),
        reads: _Stores = (),
        key: Serde[K2] | None = None,
        value: Serde[V2] | None = None,
    ) -> Stream[K2, V2]:
        """Process the records of two streams by key, with a `JoinProcessor`; see `process`."""
        call = self._call("process_with", supplier)
        return self._run(call, supplier, other, stores, reads, key, value)

    @checks_options
    def deduplicate(
        self,
        by: Callable[[K, V], ID | None] | KeyId | HeaderId,
        *,
        within: timedelta,
        key: Serde[ID] | None = None,
        store: str | None = None,
        late: LatePolicy = "forward",
    ) -> Stream[K, V]:
        """Drop a record if one with the same id and a nearby time was forwarded.

        Args:
            by: Returns the id of a key and value, or None; or `by_key()` or `by_header(name)`.
            within: Maximum time between duplicates.
            key: The serde of the ids.
            store: The name of the store of ids.
            late: The policy for late records; see `kstreams.operators.deduplicate`.

        Source: KIP-655 (`KStream#distinct`).
        """
        function = None if isinstance(by, (KeyId, HeaderId)) else by
        arguments = () if function is None else KEY_AND_VALUE
        call = self._call("deduplicate", function, arguments)
        of = "key" if function is None else name_of(by)
        own = self._plan.owned(store or dashed(self._facts.label, "distinct", of), call)
        known: KnownSerde = BYTES if isinstance(by, HeaderId) else self._facts.key
        if function is not None:
            known = self._result(function, key, call).serde
        finds: Any = by if function is None else partial(_of_record, function)
        serde: Any = key or needed(known, "key", call)
        made: Any = deduplicate(finds, id=serde, within=within, store=own, late=late)
        stream = self._in_time(call)
        return stream._then(own, made, stream._facts.after(call))

    def _run(
        self,
        call: str,
        supplier: Callable[[], Any],
        other: StreamBase[K, Any] | None,
        stores: _Stores,
        reads: _Stores,
        key: Serde[Any] | None,
        value: Serde[Any] | None,
    ) -> Stream[Any, Any]:
        plan = self._plan
        probe: Any = supplier()
        base: type = BatchProcessor if isinstance(probe, BatchProcessor) else Processor
        base = base if other is None else JoinProcessor
        if not isinstance(probe, base):
            raise TopologyError(
                f"{call} got a supplier of {type(probe).__name__}, expected a {base.__name__}",
                hint="pass the class itself or a function that returns a new processor.",
            )
        key_type, value_type = type_arguments(type(probe), base)[-2:]
        label = dashed(self._facts.label, name_of(supplier).removesuffix("-supplier"))
        tables = [spec for spec in reads if spec not in plan.global_stores]
        is_keyed = bool(stores_of(label, supplier, stores)) or bool(tables)
        name = plan.owned(label, call) if is_keyed else plan.free(label)
        stream = self._by_key(call) if is_keyed or other is not None else self
        right = None if other is None else other._by_key(call, stream._facts)._take()
        facts = stream._facts
        if not getattr(probe, "keeps_key", False):
            made = key or plan.serdes.of(key_type, call)
            options: dict[str, Any] = {"label": label, "moved": True, "partitioner": None}
            facts = facts.after(call, key=made, key_type=without_none(key_type), **options)
        facts = facts.after(
            call,
            value=value or plan.serdes.of(value_type, call),
            value_type=without_none(value_type),
            nulls=may_be_none(value_type),
            delayed=facts.delayed or delays(supplier),
        )
        parent = stream._take()

        def make() -> Node[Any, Any]:
            builder: Any = plan.builder
            add = builder.add_processor if right is None else builder.add_join
            parents = (parent(),) if right is None else (parent(), right())
            node: Node[Any, Any] = add(str(name), supplier, *parents, stores=stores, reads=reads)
            return node

        return self._stream(facts, make, must=False)


def _of_record(function: Callable[[Any, Any], Any], record: Record[Any, Any]) -> Any:  # noqa: ANN401  # an id
    return function(record.key, record.value)
