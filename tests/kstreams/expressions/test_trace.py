"""`columns` records a function, or refuses it with the reason and the place."""

from __future__ import annotations

import math
import pickle
import random
from dataclasses import InitVar, dataclass, field
from typing import Any

import cloudpickle
import msgspec
import pytest

from kstreams.errors import TopologyError
from kstreams.expressions.function import ColumnFunction
from kstreams.operators import columns, is_null


@dataclass(frozen=True)
class Order:
    """A value."""

    user: str
    price: float
    quantity: int


@dataclass
class Line:
    """An object that functions create."""

    user: str
    amount: float = 1.0
    tag: str = "new"


class Amount(msgspec.Struct, kw_only=True):
    """A Struct that functions create."""

    value: float
    unit: str = "EUR"


@dataclass
class Own:
    """A class with its own constructor."""

    value: float

    def __init__(self, value: float) -> None:
        self.value = value * 2


@dataclass
class Checked:
    """A class with a check."""

    value: float

    def __post_init__(self) -> None:
        self.value += 1


@dataclass
class Lists:
    """A class with a mutable default."""

    value: float
    items: list[int] = field(default_factory=list)


@dataclass
class Numbered:
    """A class whose constructor does not take all fields."""

    value: float
    number: int = field(init=False, default=0)


@dataclass
class Scaled:
    """A class whose constructor takes a parameter that is no field."""

    value: float
    scale: InitVar[int] = 1


class Counted:
    """A class with its own `__new__`."""

    def __new__(cls, *_: object) -> Counted:
        return super().__new__(cls)


@dataclass
class CountedAmount(Counted):
    """A class with an inherited `__new__`."""

    value: float


class Adding(type):
    """A metaclass that changes objects."""

    def __call__(cls, *args: Any) -> Any:
        made = super().__call__(*args)
        made.value += 1
        return made


@dataclass
class Added(metaclass=Adding):
    """A class whose metaclass changes objects."""

    value: float


RATE = 3
pickled: Any = getattr(cloudpickle, "dumps")  # noqa: B009  # without types
SEEDED = random.Random(1)
ORDER = Order("ann", 2.5, 4)


def recorded(function: Any) -> ColumnFunction[Any, Any]:
    found: Any = columns(function)
    assert isinstance(found, ColumnFunction)
    return found


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda o: o.price, "price"),
        (lambda o: o.price * o.quantity + 1, "((price * quantity) + 1)"),
        (lambda o: 2 - o.price / RATE, "(2 - (price / 3))"),
        (lambda o: -abs(o.quantity // 2 % 3), "-abs(((quantity // 2) % 3))"),
        (lambda o: (o.price > 1) & ~(o.user == "x"), "((price > 1) & ~(user == 'x'))"),
        (lambda o: (o.price > 1) | is_null(o.user), "((price > 1) | is_null(user))"),
        (lambda o: Line(o.user, tag="old"), "Line(user=user, amount=1.0, tag='old')"),
        (lambda o: Amount(value=o.price), "Amount(value=price, unit='EUR')"),
        (lambda n: n * 2, "(value * 2)"),
        (lambda _: True, "True"),
        (lambda o, least=5: o.price > least, "(price > 5)"),
    ],
)
def test_function_is_recorded_as_a_tree(function: Any, text: str) -> None:
    assert str(recorded(function).tree) == text


def test_statements_and_local_variables_are_recorded() -> None:
    rate = 2

    def amount(order: Order) -> float:
        """Return the amount."""
        total = order.price * order.quantity
        total += 1
        return total * rate

    found = recorded(amount)
    assert str(found.tree) == "(((price * quantity) + 1) * 2)"
    assert found(ORDER) == 22.0


def chosen(order: Order) -> float:
    if order.price > 1:
        return order.price
    return 0.0


def helper(order: Order) -> float:
    return order.price


REFUSED: list[tuple[Any, str]] = [
    (chosen, "branches on a value"),
    (lambda o: o.price if o.price > 1 else 0, "branches on a value"),
    (lambda o: o.price > 1 and o.quantity > 1, "branches on a value"),
    (lambda o: 1 < o.price < 2, "branches on a value"),
    (lambda o: not o.price, "branches on a value"),
    (lambda o: o.user is None, "is_null"),
    (lambda o: o.price if o.user is None else 1.0, "is_null|branches"),
    (lambda o: o.user in ("a", "b"), "'in'"),
    (lambda o: o.user.upper(), "method 'upper' of user"),
    (lambda o: o.address.city, "'city' of address"),
    (lambda o: o.rename("x"), "calls a method"),
    (lambda o: f"{o.user}!", "as text"),
    (lambda o: str(o.user), "'str'"),
    (lambda o: float(o.price), "'float'"),
    (lambda o: round(o.price), "'round'"),
    (lambda o: sum((o.price, 1.0)), "collection|'sum'"),
    (lambda o: isinstance(o, Order), "'isinstance'"),
    (lambda o: helper(o), "'helper'"),
    (lambda o: SEEDED.random() * o.price, "'SEEDED'"),
    (lambda o: math.pi * o.price, "'math'"),
    (lambda o: o["price"], "subscript"),
    (lambda o: (o.price, o.user), "collection"),
    (lambda o: [each for each in o.items], "loop"),  # noqa: C416
    (lambda o: o.price**2, r"\*\*"),
    (lambda o: o.quantity << 1, "shifts"),
    (lambda o: o.__class__, "__class__"),
    (lambda _: None, "None"),
    (lambda o: Own(o.price), "own __init__"),
    (lambda o: Checked(o.price), "__post_init__"),
    (lambda o: Lists(o.price), "'items' of Lists"),
    (lambda o: Numbered(o.price), "are not its fields"),
    (lambda o: Scaled(o.price), "are not its fields"),
    (lambda o: CountedAmount(o.price), "own __new__"),
    (lambda o: Added(o.price), "metaclass"),
    (lambda o: o.user == "\ud83d", "cannot be encoded as UTF-8"),
    (lambda o: Line(o), "is an object"),
    (lambda o: Line(o.user, 1.0, "", 1), "wrong arguments"),  # type: ignore[call-arg]
    (lambda o: o.price + undefined_name, "not defined"),  # type: ignore[name-defined]  # noqa: F821
    (lambda: 1, "expected a value, or a key and a value"),
    (lambda a, b, c: a, "expected a value, or a key and a value"),
    (lambda a, *b: a, "expected a value, or a key and a value"),
    (lambda a, *, b: a, "expected a value, or a key and a value"),
    (len, "expected a lambda or a function"),
    (Order, "expected a lambda or a function"),
]


@pytest.mark.parametrize(("function", "reason"), REFUSED)
def test_function_that_cannot_be_recorded_is_refused_with_reason(
    function: Any, reason: str
) -> None:
    with pytest.raises(TopologyError, match=reason) as raised:
        columns(function)
    assert "Hint: " in str(raised.value)


def test_error_of_refused_function_names_file_and_line() -> None:
    with pytest.raises(TopologyError) as raised:
        columns(chosen)
    line = chosen.__code__.co_firstlineno
    assert f"cannot read 'chosen' at {__file__}:{line}: " in str(raised.value)


def test_field_that_the_annotated_class_lacks_is_refused() -> None:
    def wrong(order: Order) -> float:
        return order.pirce  # type: ignore[attr-defined,no-any-return]

    with pytest.raises(TopologyError, match="Order has no field 'pirce'; did you mean 'price'"):
        columns(wrong)


def test_function_whose_local_variables_multiply_its_operations_is_refused() -> None:
    def squared(order: Order) -> float:
        x = order.price
        x = x * x
        x = x * x
        x = x * x
        return x * x

    def huge(order: Order) -> float:
        x = order.price
        x = x * x * x * x * x * x * x * x * x * x
        x = x * x * x * x * x * x * x * x * x * x
        x = x * x * x * x * x * x * x * x * x * x
        x = x * x * x * x * x * x * x * x * x * x
        x = x * x * x * x * x * x * x * x * x * x
        x = x * x * x * x * x * x * x * x * x * x
        x = x * x * x * x * x * x * x * x * x * x
        return x * x * x * x * x * x * x * x * x * x

    assert recorded(squared)(ORDER) == 2.5**16
    with pytest.raises(TopologyError, match="more than 1,000 operations"):
        columns(huge)


def test_recorded_function_keeps_constants_of_its_recording() -> None:
    found = [recorded(lambda o: o.price * factor) for factor in (1, 2)]  # noqa: B023
    assert [each(ORDER) for each in found] == [2.5, 5.0]
    assert [str(each.tree) for each in found] == ["(price * 1)", "(price * 2)"]


def test_recorded_negation_of_comparison_called_by_records_is_logical() -> None:
    found = recorded(lambda o: ~(o.price > 1))
    assert found(ORDER) is False
    assert found(Order("bob", 0.5, 1)) is True


def test_recorded_function_called_by_records_creates_objects_and_tests_for_none() -> None:
    assert recorded(lambda o: Line(o.user, o.price))(ORDER) == Line("ann", 2.5)
    assert recorded(lambda o: is_null(o.user))(ORDER) is False


@pytest.mark.parametrize("function", [lambda o: o.price * RATE, lambda o: ~(o.price > RATE)])
def test_recorded_function_can_be_sent_to_workers(function: Any) -> None:
    found = recorded(function)
    copy = pickle.loads(pickled(found))
    assert copy(ORDER) == found(ORDER)
    assert copy.tree == found.tree
