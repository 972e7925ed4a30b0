"""Trees on columns give the results of Python's operators, or doubt."""

from __future__ import annotations

import math
import operator
import struct
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from kstreams.columns.values import ValueColumn
from kstreams.expressions.by_record import by_record
from kstreams.expressions.computation import Computation
from kstreams.expressions.evaluate import Doubt
from kstreams.expressions.function import ColumnFunction
from kstreams.expressions.tree import BINARY, Binary, Constant, Made, Part, Tree, Unary
from kstreams_json import json_serde


@dataclass(frozen=True)
class Item:
    """A value with a field of each type."""

    i: int
    j: int
    f: float
    g: float
    b: bool
    c: bool
    s: str
    t: str


@dataclass(frozen=True)
class Pair:
    """An object that functions create."""

    one: object
    two: object


SERDE = json_serde(Item)
EDGES = (0, 1, -1, 2, -2, 7, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63))
INTS = st.sampled_from(EDGES) | st.integers(-20, 20) | st.integers(-(2**63), 2**63 - 1)
DOUBLES = st.sampled_from([0.0, -0.0, 1.5, -1.5, 1e308, 5e-324, 0.1, 2.0**53]) | st.floats(
    allow_nan=False, allow_infinity=False
)
TEXTS = st.sampled_from(["", "a", "b", "ab", "\U0001f600", "\uffff"])
ITEMS = st.builds(Item, INTS, INTS, DOUBLES, DOUBLES, st.booleans(), st.booleans(), TEXTS, TEXTS)
NUMBERS: Any = st.sampled_from([Part(name) for name in "ijfgb"])
CONSTANTS = st.builds(Constant, INTS | DOUBLES | st.booleans())
ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod"]
COMPARISONS = ["lt", "le", "eq", "ne", "ge", "gt"]


def arithmetic(parts: Any) -> Any:
    return st.builds(Binary, st.sampled_from(ARITHMETIC), parts, parts) | st.builds(
        Unary, st.sampled_from(["neg", "abs"]), parts
    )


COMPUTED: Any = st.recursive(NUMBERS | CONSTANTS, arithmetic, max_leaves=4)
COMPARED = (
    st.builds(Binary, st.sampled_from(COMPARISONS), COMPUTED, COMPUTED)
    | st.builds(
        Binary,
        st.sampled_from(COMPARISONS),
        st.sampled_from([Part("s"), Part("t")]),
        st.sampled_from([Part("s"), Part("t"), Constant("a"), Constant("\uffff")]),
    )
    | st.sampled_from([Part("b"), Part("c"), Constant(True)])
    | st.builds(Unary, st.just("is_null"), COMPUTED)
)
LOGIC = st.recursive(
    COMPARED,
    lambda parts: (
        st.builds(Binary, st.sampled_from(["and_", "or_", "xor"]), parts, parts)
        | st.builds(Unary, st.just("not_"), parts)
    ),
    max_leaves=4,
)
SCALARS = COMPUTED | LOGIC | st.sampled_from([Part("s"), Constant("x")])
TREES = SCALARS | st.builds(
    lambda one, two: Made(Pair, (("one", one), ("two", two))), SCALARS, SCALARS
)


def bits(value: object) -> object:
    """Return the type and the bits of a value, so that -0.0 differs from 0.0 and True from 1."""
    if isinstance(value, Pair):
        return Pair, bits(value.one), bits(value.two)
    if isinstance(value, float):
        return float, b"nan" if math.isnan(value) else struct.pack(">d", value)
    return type(value), value


def column(tree: Tree, items: list[Item]) -> pa.Array:
    """Return the results of a tree without a call."""
    values = ValueColumn(SERDE.serialize_many(items), SERDE)
    return computation_of(tree).computed(lambda _: values, len(items))


def computation_of(tree: Tree) -> Computation:
    found = ColumnFunction(by_record(tree), tree).computation(SERDE)
    assert isinstance(found, Computation), found
    return found


@given(TREES, st.lists(ITEMS, min_size=1, max_size=6))
def test_results_by_columns_equal_those_of_python_to_the_last_bit(
    tree: Tree, items: list[Item]
) -> None:
    computation = computation_of(tree)
    try:
        results = column(tree, items)
    except Doubt:
        event("doubt")
        return
    event("columns")
    found = ValueColumn(results, computation.serde).objects()
    assert [bits(each) for each in found] == [bits(by_record(tree)(item)) for item in items]
    assert results.type == computation.serde.arrow_type


SMALL = st.integers(-1000, 1000)
FRACTIONS = st.floats(-1e6, 1e6).filter(lambda each: each != 0)


@given(st.sampled_from([*ARITHMETIC, *COMPARISONS]), SMALL, FRACTIONS, FRACTIONS)
@example("floordiv", -7, 2.0, 0.1)
@example("mod", -7, -2.0, 0.1)
def test_small_numbers_other_than_zero_are_computed_by_columns(
    name: str, whole: int, one: float, two: float
) -> None:
    item = Item(whole, whole or 1, one, two, True, False, "", "")
    for left, right in (("f", "g"), ("i", "j"), ("i", "f"), ("f", "j")):
        tree = Binary(name, Part(left), Part(right))
        computation = computation_of(tree)
        found = ValueColumn(column(tree, [item]), computation.serde).objects()
        expected = getattr(operator, name)(getattr(item, left), getattr(item, right))
        assert [bits(each) for each in found] == [bits(expected)]


@pytest.mark.parametrize(
    ("tree", "item"),
    [
        (Binary("add", Part("i"), Part("j")), {"i": 2**63 - 1, "j": 1}),
        (Binary("mul", Part("i"), Part("j")), {"i": 2**62, "j": 2}),
        (Unary("neg", Part("i")), {"i": -(2**63)}),
        (Unary("abs", Part("i")), {"i": -(2**63)}),
        (Binary("floordiv", Part("i"), Part("j")), {"i": -(2**63), "j": -1}),
        (Binary("truediv", Part("i"), Part("j")), {"i": 2**53 + 1, "j": 3}),
        (Binary("eq", Part("i"), Part("f")), {"i": 2**53 + 1, "f": 2.0**53}),
        (Binary("mod", Part("f"), Part("g")), {"f": 1.0, "g": 0.0}),
        (Binary("truediv", Part("i"), Part("b")), {"b": False}),
    ],
)
def test_values_whose_results_by_columns_might_differ_from_python_raise_doubt(
    tree: Tree, item: dict[str, Any]
) -> None:
    made = Item(
        **{
            **dict.fromkeys("ij", 1),
            "f": 1.0,
            "g": 1.0,
            "b": True,
            "c": True,
            "s": "",
            "t": "",
            **item,
        }
    )
    with pytest.raises(Doubt):
        column(tree, [made])


def test_integers_beyond_int64_in_the_data_are_computed_as_python_integers() -> None:
    tree = Binary("add", Part("i"), Constant(1))
    data = pa.array([SERDE.serialize(Item(2**70, 0, 0.0, 0.0, True, True, "", ""))], pa.binary())
    found = computation_of(tree).column(ValueColumn(data, SERDE))
    assert found.objects() == [2**70 + 1]
    assert found.numbers().tolist() == [2**70 + 1]


@pytest.mark.parametrize("name", sorted(BINARY))
def test_text_has_comparisons_and_no_other_operations(name: str) -> None:
    found = ColumnFunction(str, Binary(name, Part("s"), Part("t"))).computation(SERDE)
    assert isinstance(found, Computation) == (name in COMPARISONS)
