"""Classes of a union, for `Stream.by_type`; type checkers compare them with the union."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from kstreams.errors import TopologyError

__all__ = ("T1", "T2", "T3", "T4", "Classes2", "Classes3", "Classes4", "classes")

U_co = TypeVar("U_co")
"""The union of the classes."""
T1 = TypeVar("T1")
"""The first class."""
T2 = TypeVar("T2")
"""The second class."""
T3 = TypeVar("T3")
"""The third class."""
T4 = TypeVar("T4")
"""The fourth class."""


@dataclass(frozen=True)
class Classes2(Generic[U_co, T1, T2]):
    """Two classes and their union, for `Stream.by_type`; created by `classes`."""

    types: tuple[type[T1], type[T2]]


@dataclass(frozen=True)
class Classes3(Generic[U_co, T1, T2, T3]):
    """Three classes and their union, for `Stream.by_type`; created by `classes`."""

    types: tuple[type[T1], type[T2], type[T3]]


@dataclass(frozen=True)
class Classes4(Generic[U_co, T1, T2, T3, T4]):
    """Four classes and their union, for `Stream.by_type`; created by `classes`."""

    types: tuple[type[T1], type[T2], type[T3], type[T4]]


@overload
def classes(first: type[T1], second: type[T2], /) -> Classes2[T1 | T2, T1, T2]: ...
@overload
def classes(
    first: type[T1], second: type[T2], third: type[T3], /
) -> Classes3[T1 | T2 | T3, T1, T2, T3]: ...
@overload
def classes(
    first: type[T1], second: type[T2], third: type[T3], fourth: type[T4], /
) -> Classes4[T1 | T2 | T3 | T4, T1, T2, T3, T4]: ...
def classes(*types: type[Any]) -> Any:
    """Return two, three or four classes of a union, for `Stream.by_type`.

    Raises:
        TopologyError: An argument is not a class, or the number of classes is not 2, 3 or 4.
    """
    made: dict[int, Any] = {2: Classes2, 3: Classes3, 4: Classes4}
    given: tuple[object, ...] = types
    if len(types) not in made or not all(isinstance(each, type) for each in given):
        raise TopologyError(
            f"classes(...) got {len(types)} arguments, expected 2, 3 or 4 classes",
            hint="use only(...) for one class, and split(...) to divide a larger union in steps.",
        )
    return made[len(types)](types)
