"""Count distinct values approximately, in bounded memory, with HyperLogLog.

Uses Apache DataSketches, which is maintained, has wheels for each Python version, and has mergeable
sketches with a stable format that are small while there are few values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Generic

from kstreams._types import V
from kstreams.aggregators.aggregator import Aggregator
from kstreams.errors import DeserializationError
from kstreams.record import Record
from kstreams.serde.base import Serde

try:
    from datasketches import hll_sketch, hll_union, tgt_hll_type
except ImportError as exc:
    raise ImportError(
        "approx_count_distinct needs datasketches: pip install 'kstreams-spark[sketches]'"
    ) from exc

__all__ = ("approx_count_distinct",)


_PRECISIONS = range(4, 22)


def approx_count_distinct(
    value: Serde[V], *, precision: int = 12
) -> Aggregator[object, V, bytes, int]:
    """Count distinct values approximately, in bounded memory.

    The count is almost exact for few values; for many values its standard error is 1.04 / sqrt(2 **
    precision), 1.6 % by default. A state has at most about 2 ** precision bytes, 4 KiB by default,
    and can be merged. The same records in the same order give the same count.

    Args:
        value: Serde of the values; values with equal bytes count as one.
        precision: The precision, from 4 to 21. A store with another precision has another serde.

    Raises:
        ValueError: The precision is out of range.
        ImportError: Raised at import if the extra `sketches` is not installed.

    Source: Spark's `approx_count_distinct`, with Apache DataSketches' HLL.
    """
    if precision not in _PRECISIONS:
        raise ValueError(f"precision is {precision}, expected 4 to 21")
    return _ApproxCountDistinct(_SketchSerde(precision), value)


class _SketchSerde(Serde[bytes]):
    """Serde of sketches of one precision, in the format of DataSketches."""

    type_token = bytes
    immutable = True
    hashes_by_bytes = True

    def __init__(self, precision: int) -> None:
        self.precision = precision
        self.name = f"hll-{precision}"

    def serialize(self, value: bytes) -> bytes:
        return value

    def deserialize(self, data: bytes) -> bytes:
        try:
            found = hll_sketch.deserialize(data).lg_config_k
        except ValueError as exc:
            raise DeserializationError(f"expected an HLL sketch, got {data[:40]!r}: {exc}") from exc
        if found != self.precision:
            raise DeserializationError(
                f"the sketch has precision {found}, expected {self.precision}"
            )
        return data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SketchSerde) and self.precision == other.precision

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True)
class _ApproxCountDistinct(Generic[V]):
    identity: ClassVar[str] = "approx_count_distinct"
    name: ClassVar[str] = "approx-count-distinct"

    state: _SketchSerde
    value: Serde[V]

    def init(self, record: Record[Any, V]) -> bytes:
        return self._with(hll_sketch(self.state.precision, tgt_hll_type.HLL_8), record)

    def add(self, state: bytes, record: Record[Any, V]) -> bytes:
        return self._with(hll_sketch.deserialize(state), record)

    def merge(self, earlier: bytes, later: bytes) -> bytes:
        union = hll_union(self.state.precision)
        union.update(hll_sketch.deserialize(earlier))
        union.update(hll_sketch.deserialize(later))
        return _written(union.get_result(tgt_hll_type.HLL_8))

    def result(self, state: bytes) -> int:
        estimate: float = hll_sketch.deserialize(state).get_estimate()
        return round(estimate)

    def _with(self, sketch: hll_sketch, record: Record[Any, V]) -> bytes:
        # The library takes text, but passes over an empty one.
        sketch.update("=" + self.value.serialize(record.value).decode("latin-1"))
        return _written(sketch)


def _written(sketch: hll_sketch) -> bytes:
    data: bytes = sketch.serialize_compact()
    return data
