"""Type tokens of edges: compatibility and text form."""

from __future__ import annotations

import collections.abc
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NewType,
    Optional,
    Protocol,
    TypedDict,
    TypeVar,
    Union,
)

import pytest

from kstreams import FixedKeyProcessor, Processor, Record
from kstreams.graph.tokens import accepts, show, type_arguments
from kstreams.processors.branch import PassThrough

K = TypeVar("K")
V = TypeVar("V")
UserId = NewType("UserId", str)


class Base(Processor[str, int, bytes, float]):
    def process(self, record: Record[str, int]) -> None: ...


class Derived(Base):
    """Has the types of its base."""


class Generic1(Processor[K, V, V, K]):
    def process(self, record: Record[K, V]) -> None: ...


class Bound1(Generic1[str, int]):
    """Binds both type variables."""


class Half(Generic1[str, V]):
    """Binds one type variable."""


class Whole(Half[None]):
    """Binds the other type variable."""


class Fixed(FixedKeyProcessor[str, None, "int"]):
    def process(self, record: Record[str, None]) -> None: ...


class Short(Processor[str, int]):
    def process(self, record: Record[str, int]) -> None: ...


class ShortFixed(FixedKeyProcessor[str, int]):
    def process(self, record: Record[str, int]) -> None: ...


class Tagged(Generic[K]):
    """A generic class that is no processor."""


class Mixed(Tagged[int], Base):
    """Has two generic bases."""


class MixedPlain(Mixed):
    """A non-generic subclass of a class with two generic bases."""


class Odd(Processor[Annotated[int, []], "list[V]", V, None]):
    def process(self, record: Record[Any, Any]) -> None: ...


# `Optional` and `List` are other types at run time than `X | None` and `list`.
OPTIONAL_TEXT: Any = Optional[str]  # noqa: UP045
OPTIONAL_KEY: Any = Optional[K]  # noqa: UP045
NUMBER_OR_TEXT: Any = Union[int, str]  # noqa: UP007


class Shape(Protocol):
    def area(self) -> float: ...


class Row(TypedDict):
    name: str


@pytest.mark.parametrize(
    ("cls", "expected"),
    [
        (Base, (str, int, bytes, float)),
        (Derived, (str, int, bytes, float)),
        (Generic1, (object,) * 4),
        (Bound1, (str, int, int, str)),
        (Half, (str, object, object, str)),
        (Whole, (str, type(None), type(None), str)),
        (Fixed, (str, type(None), str, object)),
        (Short, (str, int, str, int)),
        (ShortFixed, (str, int, str, int)),
        (Mixed, (str, int, bytes, float)),
        (MixedPlain, (str, int, bytes, float)),
        (Odd, (Annotated[int, []], object, object, type(None))),
        (PassThrough, (object,) * 4),
        (Processor, (object,) * 4),
        (int, (object,) * 4),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_type_arguments_of_generic_processor_base_are_found(
    cls: type, expected: tuple[object, ...]
) -> None:
    assert type_arguments(cls, Processor) == expected


@pytest.mark.parametrize(
    ("expected", "actual", "answer"),
    [
        (object, int, True),
        (int, object, True),
        (Any, int, True),
        (int, Any, True),
        (int, int, True),
        (int, str, False),
        (int, bool, True),
        (bool, int, False),
        (float, int, True),
        (complex, float, True),
        (int, float, False),
        (type(None), type(None), True),
        (str, type(None), False),
        (OPTIONAL_TEXT, type(None), True),
        (OPTIONAL_TEXT, str, True),
        (str, OPTIONAL_TEXT, False),
        (str | None, OPTIONAL_TEXT, True),
        (NUMBER_OR_TEXT, bool, True),
        (NUMBER_OR_TEXT, str | bytes, False),
        (list[int], list[str], True),
        (list[int], dict[str, int], False),
        (collections.abc.Sequence[int], list[int], True),
        (list, list[int], True),
        (K, int, True),
        (OPTIONAL_KEY, int, True),
        (UserId, str, True),
        (str, UserId, True),
        (Literal["a"], str, True),
        (Shape, int, True),
        (Row, dict, True),
        (Annotated[int, []], int, True),
        (Annotated[int, []], str, False),
    ],
)
def test_type_token_accepts_compatible_types_only(
    expected: object, actual: object, answer: bool
) -> None:
    assert accepts(expected, actual) is answer


@pytest.mark.parametrize(
    ("token", "text"),
    [(int, "int"), (type(None), "None"), (str | None, "str | None"), (list[int], "list[int]")],
)
def test_type_tokens_are_printed_as_written(token: object, text: str) -> None:
    assert show(token) == text
