"""The test suite for serdes."""
# ruff: noqa: D102  # a test's name states its claim

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pyarrow as pa

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import Serde
from kstreams.serde.objects import objects_of
from kstreams.serde.schema import SchemaSerde
from kstreams_testing.serde_cases import (
    WrittenBytes,
    can_change,
    damaged,
    error_of,
    field_of,
    outcome,
    with_hidden_bytes,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ("SerdeContract",)

T = TypeVar("T")
"""The type that the serde converts."""


class SerdeContract(Generic[T]):
    """Derive a test class that implements `serde` and `values`; pytest finds the tests.

    Each test uses `values()`, and with `strategy()` also examples of Hypothesis.

    Example:
        class TestMine(SerdeContract[Order]):
            def serde(self) -> Serde[Order]:
                return MySerde()

            def values(self) -> Sequence[Order]:
                return [Order("tea", 1), Order("", -5)]

    Attributes:
        recorded_name: The serde's name in recorded stores, if the name must not change; else empty.
        sorts: Whether to check that the bytes of `ordered` sort as the objects do. This is always
            checked if `ordered` is another serde.
        examples: The number of lists of values that Hypothesis tries in each test.
    """

    recorded_name: str = ""
    sorts: bool = False
    examples: int = 40

    # ------------------------------------------------------------ to override

    def serde(self) -> Serde[T]:
        """Return a new instance of the tested serde."""
        raise NotImplementedError("override serde() to return the tested serde")

    def values(self) -> Sequence[T]:
        """Return various objects that the serde writes, including empty and extreme ones."""
        raise NotImplementedError("override values() to return objects that the serde writes")

    def strategy(self) -> SearchStrategy[T] | None:
        """Return a Hypothesis strategy for more objects; None by default."""
        return None

    def wrong_objects(self) -> Sequence[object]:
        """Return objects that the serde must refuse to write."""
        return ()

    def bad_bytes(self) -> Sequence[bytes]:
        """Return bytes that the serde must refuse to read."""
        return ()

    def written(self) -> Sequence[WrittenBytes[T]]:
        """Return bytes of other programs or earlier versions, with the expected objects."""
        return ()

    def fields(self) -> Mapping[str, pa.DataType]:
        """Return fields of the objects to test with `Serde.field`, with their column types."""
        return {}

    def in_column(self, value: T) -> object:
        """Return a value as `objects_of` returns it from a column of `arrow_type`."""
        return value

    def same(self, one: object, other: object) -> bool:
        """Return whether a read object equals the original; objects with NaN compare by `repr`."""
        return type(one) is type(other) and (one == other or repr(one) == repr(other))

    # ------------------------------------------------------------ singly

    def test_serialized_object_is_deserialized_unchanged(self) -> None:
        def check(values: list[T]) -> None:
            serde = self.serde()
            for value in values:
                data = serde.serialize(value)
                assert type(data) is bytes
                self._assert_same(serde.deserialize(data), value)

        self._for_all(check)

    def test_equal_objects_are_serialized_to_equal_bytes(self) -> None:
        def check(values: list[T]) -> None:
            serde = self.serde()
            for value in values:
                data = serde.serialize(value)
                assert serde.serialize(value) == data
                assert serde.serialize(deepcopy(value)) == data
                assert serde.serialize(serde.deserialize(data)) == data, "reading changes it"
                assert self.serde().serialize(value) == data

        self._for_all(check)

    def test_bytes_of_written_cases_are_deserialized_to_given_objects(self) -> None:
        for case in self.written():
            serde = self.serde()
            if case.schema is not None:
                assert isinstance(serde, SchemaSerde), f"{serde} reads no other schema"
                serde = serde.reading(case.schema)
            data = pa.array([case.data, None, case.data], pa.binary())
            self._assert_same(serde.deserialize(case.data), case.value)
            self._assert_all_same(serde.deserialize_many(data), [case.value, None, case.value])
            self._assert_columns(serde, data, [case.value, None, case.value])
            if case.golden:
                assert serde.serialize(case.value) == case.data

    # ------------------------------------------------------------ in bulk

    def test_serialize_many_equals_serialize_of_each_object(self) -> None:
        def check(values: list[T]) -> None:
            serde = self.serde()
            for some in _with_nulls(values):
                column = serde.serialize_many(some)
                assert column.type == pa.binary()
                assert column.to_pylist() == self._data(serde, some)

        self._for_all(check)

    def test_deserialize_many_equals_deserialize_of_each_row(self) -> None:
        def check(values: list[T]) -> None:
            serde = self.serde()
            for some in _with_nulls(values):
                for column, start in _slices(self._data(serde, some)):
                    expected = some[start : start + len(column)]
                    self._assert_all_same(serde.deserialize_many(column), expected)

        self._for_all(check)

    def test_deserialized_mutable_objects_are_not_shared(self) -> None:
        serde = self.serde()
        for value in filter(can_change, self.values()):
            data = serde.serialize(value)
            read = [serde.deserialize(data), *serde.deserialize_many(pa.array([data, data]))]
            assert len(set(map(id, read))) == len(read), "two records share an object"

    # ------------------------------------------------------------ as columns

    def test_to_arrow_gives_column_of_same_objects(self) -> None:
        def check(values: list[T]) -> None:
            serde = self.serde()
            for some in _with_nulls(values):
                for column, start in _slices(self._data(serde, some)):
                    self._assert_columns(serde, column, some[start : start + len(column)])

        self._for_all(check)

    def test_from_arrow_writes_column_that_is_deserialized_unchanged(self) -> None:
        def check(values: list[T]) -> None:
            serde = self.serde()
            for some in _with_nulls(values):
                column = serde.to_arrow(pa.array(self._data(serde, some), pa.binary()))
                for start in {0, 1, len(some) // 2}:
                    written = serde.from_arrow(column.slice(start))
                    assert written.type == pa.binary()
                    self._assert_all_same(serde.deserialize_many(written), some[start:])

        self._for_all(check)
        nulls = self.serde().from_arrow(pa.nulls(2))
        assert (nulls.type, nulls.to_pylist()) == (pa.binary(), [None, None])

    def test_field_of_column_equals_field_of_each_object(self) -> None:
        def check(values: list[T]) -> None:
            serde = self.serde()
            for some, (name, kind) in product(_with_nulls(values), self.fields().items()):
                expected = pa.array([field_of(value, name) for value in some], kind)
                for column, start in _slices(self._data(serde, some)):
                    found = serde.field(serde.to_arrow(column), name, kind)
                    assert found.type == kind
                    wanted = objects_of(expected.slice(start, len(column)))
                    self._assert_all_same(objects_of(found), wanted)

        self._for_all(check)

    # ------------------------------------------------------------ rejected values

    def test_bad_bytes_raise_same_error_singly_and_in_bulk(self) -> None:
        serde = self.serde()
        good = serde.serialize(self.values()[0])
        for bad in self.bad_bytes():
            problem = error_of(DeserializationError, partial(serde.deserialize, bad))
            assert problem.message, "the error must have a message"
            for items in ([bad], [good, None, bad, good], [None, bad, b""]):
                self._assert_refused(serde, pa.array(items, pa.binary()), problem)
            self._assert_same(serde.deserialize(good), self.values()[0])

    def test_damaged_bytes_are_read_or_refused_equally_by_all_methods(self) -> None:
        serde = self.serde()
        good = [serde.serialize(value) for value in self.values()]
        for data in damaged(good):
            self._assert_alike(serde, data, good[0])

    def test_any_bytes_are_read_or_refused_equally_by_all_methods(self) -> None:
        if self.strategy() is not None:
            from hypothesis import given, settings, strategies  # noqa: PLC0415  # a user's choice

            good = self.serde().serialize(self.values()[0])

            @settings(max_examples=self.examples, deadline=None)
            @given(strategies.binary(max_size=40))
            def check(data: bytes) -> None:
                self._assert_alike(self.serde(), data, good)

            check()

    def test_objects_of_wrong_type_raise_serialization_error(self) -> None:
        serde, good = self.serde(), self.values()[0]
        for wrong in (*self.wrong_objects(), object()):
            values: Any = [good, None, wrong]
            problem = error_of(SerializationError, partial(serde.serialize, values[-1]))
            assert problem.message, "the error must have a message"
            error_of(SerializationError, partial(serde.serialize_many, values))
        assert serde.serialize_many([good]).to_pylist() == [serde.serialize(good)]

    # ------------------------------------------------------------ guarantees

    def test_serde_can_be_pickled(self) -> None:
        serde = self.serde()
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            copy: Serde[T] = pickle.loads(pickle.dumps(serde, protocol))  # noqa: S301  # our own
            assert copy == serde
            assert hash(copy) == hash(serde)
            assert (copy.name, copy.type_token) == (serde.name, serde.type_token)
            assert (copy.arrow_type, copy.immutable) == (serde.arrow_type, serde.immutable)
            for value in self.values():
                self._assert_same(copy.deserialize(serde.serialize(value)), value)
                assert copy.serialize(value) == serde.serialize(value)

    def test_serde_equals_serde_with_same_arguments(self) -> None:
        serde = self.serde()
        assert serde == self.serde(), "serdes with the same arguments must be equal"
        assert hash(serde) == hash(self.serde())
        assert serde != object()

    def test_serde_name_is_stable(self) -> None:
        name = self.serde().name
        assert isinstance(name, str)
        assert name
        assert name.isprintable()
        assert self.serde().name == name
        assert " at 0x" not in name, "the name has a memory address"
        assert not self.recorded_name or name == self.recorded_name

    def test_objects_of_immutable_serde_cannot_change(self) -> None:
        def check(values: list[T]) -> None:
            serde = self.serde()
            if serde.immutable:
                read = [serde.deserialize(serde.serialize(value)) for value in values]
                assert not [each for each in read if can_change(each)]

        self._for_all(check)

    def test_objects_of_serde_that_hashes_by_bytes_are_equal_exactly_if_bytes_are(self) -> None:
        def check(values: list[T]) -> None:
            serde = self.serde()
            if serde.hashes_by_bytes:
                written = [(value, serde.serialize(value)) for value in values]
                for (one, data), (other, others) in product(written, written):
                    assert (one == other) == (data == others)
                    assert hash(one) == hash(serde.deserialize(data))

        self._for_all(check)

    def test_ordered_serde_sorts_bytes_like_objects(self) -> None:
        def check(values: list[T]) -> None:
            serde = self.serde()
            ordered = serde.ordered
            assert ordered.ordered == ordered
            data = [ordered.serialize(value) for value in values]
            for value, each in zip(values, data, strict=True):
                self._assert_same(ordered.deserialize(each), value)
            column = serde.to_arrow(pa.array(self._data(serde, values), pa.binary()))
            assert ordered.from_arrow(column).to_pylist() == data
            if self.sorts or ordered != serde:
                pairs: Any = list(zip(values, data, strict=True))
                for (one, before), (other, after) in product(pairs, pairs):
                    assert not one < other or before < after

        self._for_all(check)

    def test_schema_serde_has_fingerprint_in_name_and_reads_own_schema(self) -> None:
        serde = self.serde()
        if isinstance(serde, SchemaSerde):
            assert serde.schema.fingerprint in serde.name
            reader = serde.reading(serde.schema)
            data = serde.serialize_many(self.values())
            self._assert_all_same(reader.deserialize_many(data), list(self.values()))

    # ------------------------------------------------------------ fixtures

    def _for_all(self, check: Callable[[list[T]], None]) -> None:
        check(list(self.values()))
        strategy = self.strategy()
        if strategy is not None:
            from hypothesis import given, settings, strategies  # noqa: PLC0415  # a user's choice

            lists = strategies.lists(strategy, max_size=5)
            settings(max_examples=self.examples, deadline=None)(given(lists)(check))()

    def _data(self, serde: Serde[T], values: Sequence[T | None]) -> list[bytes | None]:
        return [None if value is None else serde.serialize(value) for value in values]

    def _assert_columns(self, serde: Serde[T], data: pa.Array, values: Sequence[T | None]) -> None:
        column = serde.to_arrow(data)
        assert column.type == serde.arrow_type
        if serde.arrow_type == pa.binary():  # undecoded, without a frame
            self._assert_all_same(serde.plain.deserialize_many(column), values)
        else:
            expected = [None if value is None else self.in_column(value) for value in values]
            self._assert_all_same(objects_of(column), expected)

    def _assert_alike(self, serde: Serde[T], data: bytes, good: bytes) -> None:
        """Check that bytes decode to the same result in a column as singly.

        Args:
            serde: The serde.
            data: The bytes to check, which may be invalid.
            good: Valid bytes, for another row of the column.
        """
        column = pa.array([good, None, data], pa.binary())
        found: Any = outcome(lambda: serde.deserialize(data))
        if isinstance(found, DeserializationError):
            self._assert_refused(serde, column, found)
        else:
            self._assert_same(serde.deserialize_many(column)[2], found)
            self._assert_columns(serde, column, [serde.deserialize(good), None, found])

    def _assert_refused(
        self, serde: Serde[T], column: pa.Array, problem: DeserializationError
    ) -> None:
        found = error_of(DeserializationError, lambda: serde.deserialize_many(column))
        assert problem.message in found.message, "deserialize_many() raises another error"
        if serde.arrow_type != pa.binary():
            error_of(DeserializationError, lambda: serde.to_arrow(column))

    def _assert_same(self, found: object, expected: object) -> None:
        assert self.same(found, expected), f"expected {expected!r}, got {found!r}"

    def _assert_all_same(self, found: Sequence[object], expected: Sequence[object]) -> None:
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            self._assert_same(one, other)


def _with_nulls(values: Sequence[T]) -> list[list[T | None]]:
    """Return lists of the values: without nulls, with nulls between, only nulls, and empty."""
    apart: list[T | None] = [None]
    for value in values:
        apart += [value, None]
    return [list(values), apart, [None, None], []]


def _slices(data: Sequence[bytes | None]) -> list[tuple[pa.Array, int]]:
    """Return slices of a column of the data, with their starts; nulls may have hidden bytes."""
    whole, hiding = pa.array(data, pa.binary()), with_hidden_bytes(data)
    middle = len(data) // 2
    return [
        (column.slice(start, length), start)
        for column in (whole, hiding)
        for start, length in ((0, len(data)), (min(1, len(data)), len(data)), (middle, 1), (0, 0))
    ]
