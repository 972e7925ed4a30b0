"""Placeholders of values: they record the operations that a function applies to them."""

from __future__ import annotations

import dataclasses
import inspect
from types import FunctionType
from typing import Any, NoReturn

from kstreams.expressions.tree import Binary, Constant, Made, Part, Tree, Unary, Whole

__all__ = (
    "Constructor",
    "Placeholder",
    "Unreadable",
    "constructor_problem",
    "is_constant",
    "tree_of",
)

_CONSTANTS = (int, float, bool, str)


class Unreadable(Exception):
    """A function does something that a tree cannot record; the text states the reason."""


def is_constant(value: object) -> bool:
    """Return whether an object can be a constant of a tree."""
    return type(value) in _CONSTANTS


def tree_of(made: object) -> Tree:
    """Return the tree of a placeholder or constant.

    Raises:
        Unreadable: The object is neither.
    """
    if isinstance(made, Placeholder):
        return object.__getattribute__(made, "_tree")  # type: ignore[no-any-return]
    if isinstance(made, (int, float, bool, str)) and is_constant(made):
        return Constant(_encodable(made) if isinstance(made, str) else made)
    raise Unreadable(
        f"it uses or returns {'None' if made is None else f'a {type(made).__name__}'}, expected "
        "fields, numbers, bools, text, or an object of a dataclass or Struct"
    )


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise Unreadable(f"the text {text!r} cannot be encoded as UTF-8") from exc
    return text


def _refused(what: str) -> Any:  # noqa: ANN401  # a method of any signature
    def method(*_: object, **__: object) -> NoReturn:
        raise Unreadable(what)

    return method


def _binary(name: str) -> Any:  # noqa: ANN401  # a method of any signature
    def method(self: Placeholder, other: object) -> Placeholder:
        return Placeholder(Binary(name, tree_of(self), tree_of(other)))

    return method


def _reflected(name: str) -> Any:  # noqa: ANN401  # a method of any signature
    def method(self: Placeholder, other: object) -> Placeholder:
        return Placeholder(Binary(name, tree_of(other), tree_of(self)))

    return method


def _unary(name: str) -> Any:  # noqa: ANN401  # a method of any signature
    def method(self: Placeholder) -> Placeholder:
        return Placeholder(Unary(name, tree_of(self)))

    return method


class Placeholder:
    """Placeholder of a value, a field of it, or a result of operations on them."""

    __slots__ = ("_tree",)

    def __init__(self, tree: Tree) -> None:
        object.__setattr__(self, "_tree", tree)

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401  # a placeholder, or a method
        """Return the placeholder for a field."""
        if name.startswith("__") and name.endswith("__"):
            raise Unreadable(f"it reads the special attribute {name}")
        tree = tree_of(self)
        if isinstance(tree, Whole):
            return Placeholder(Part(name, tree.of))
        raise Unreadable(f"it reads the attribute or method {name!r} of {tree}")

    __setattr__ = __delattr__ = _refused("it changes the value")
    __bool__ = _refused("it branches on a value")
    __call__ = _refused("it calls a method of the value")
    __str__ = __repr__ = __format__ = _refused("it formats a value as text")
    __iter__ = __len__ = __getitem__ = __contains__ = _refused("it treats a value as a collection")
    __int__ = __float__ = __index__ = __round__ = _refused("it converts a number")
    __hash__ = _refused("it hashes a value")
    __pow__ = __rpow__ = _refused("it uses **")
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refused("it shifts bits")
    __divmod__ = __rdivmod__ = _refused("it uses divmod")
    __matmul__ = __rmatmul__ = _refused("it uses @")

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("sub"), _reflected("sub")
    __mul__, __rmul__ = _binary("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _binary("truediv"), _reflected("truediv")
    __floordiv__, __rfloordiv__ = _binary("floordiv"), _reflected("floordiv")
    __mod__, __rmod__ = _binary("mod"), _reflected("mod")
    __and__, __rand__ = _binary("and_"), _reflected("and_")
    __or__, __ror__ = _binary("or_"), _reflected("or_")
    __xor__, __rxor__ = _binary("xor"), _reflected("xor")
    __lt__, __le__ = _binary("lt"), _binary("le")
    __gt__, __ge__ = _binary("gt"), _binary("ge")
    __eq__, __ne__ = _binary("eq"), _binary("ne")
    __neg__, __abs__ = _unary("neg"), _unary("abs")
    __invert__ = _unary("not_")


class Constructor:
    """Placeholder of a class: a call returns a placeholder of an object with the given fields.

    Args:
        cls: A class for which `constructor_problem` is None.
    """

    def __init__(self, cls: type) -> None:
        self._cls = cls

    def __call__(self, *args: object, **named: object) -> Placeholder:
        """Record an object of the class."""
        try:
            bound = inspect.signature(self._cls).bind(*args, **named)
        except TypeError as exc:
            raise Unreadable(f"it calls {self._cls.__name__} with wrong arguments: {exc}") from exc
        bound.apply_defaults()
        fields = []
        for name, value in bound.arguments.items():
            try:
                fields.append((name, tree_of(value)))
            except Unreadable as exc:
                raise Unreadable(f"field {name!r} of {self._cls.__name__}: {exc}") from exc
            if isinstance(fields[-1][1], Made | Whole):
                raise Unreadable(f"field {name!r} of {self._cls.__name__} is an object")
        return Placeholder(Made(self._cls, tuple(fields)))


def constructor_problem(cls: type) -> str | None:
    """Return why objects of a class cannot be recorded; None if they can.

    Only classes whose constructor does nothing but set fields can be recorded.
    """
    name = cls.__name__
    if isinstance(type(cls).__call__, FunctionType):
        return f"class {name} has a metaclass with its own __call__"
    if hasattr(cls, "__post_init__"):
        return f"class {name} has a __post_init__"
    if hasattr(cls, "__struct_fields__"):  # a msgspec.Struct
        return None
    params: Any = getattr(cls, "__dataclass_params__", None)
    if not dataclasses.is_dataclass(cls) or params is None:
        return f"class {name} is neither a dataclass nor a Struct"
    if cls.__new__ is not object.__new__:
        return f"class {name} has its own __new__"
    init: Any = cls.__init__
    if (
        not params.init
        or init.__module__ != cls.__module__
        or init.__code__.co_filename != "<string>"
    ):
        return f"class {name} has its own __init__"
    if cls.__setattr__ is not object.__setattr__ and not params.frozen:
        return f"class {name} has its own __setattr__"
    fields = dataclasses.fields(cls)
    if any(isinstance(field.default, property) for field in fields):
        return f"class {name} has properties as fields"
    if set(inspect.signature(cls).parameters) != {field.name for field in fields}:
        return f"the parameters of class {name} are not its fields (init=False or InitVar)"
    return None
