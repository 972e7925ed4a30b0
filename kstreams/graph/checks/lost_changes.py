"""Find functions of a topology that change their own object: later batches do not see the changes.

Workers receive a copy of a function, made when the app starts. The next batch may run on another
worker, and a failed batch is repeated: changes that a function makes to its object are lost or
counted twice. This module analyzes the source code of functions, and finds these changes:

- a method assigns to an attribute of its object, or to an item of an attribute, or calls a method
  that changes a builtin container in an attribute (`self.seen.add(key)`); the methods of the same
  object that it calls directly are checked, too;
- a nested function rebinds a variable of the enclosing function (`nonlocal`).

An attribute that is assigned under a test of that attribute (`if self.client is None`) is created
once per worker, and is not reported. Functions without available source are not checked.
"""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from kstreams.errors import LostChangesWarning
from kstreams.graph.nodes import AnyNode, FunctionSink, ProcessorNode, SinkNode, SourceNode

__all__ = ("lost_change", "lost_change_warnings")

_MOST_LOOKED_AT = 200
_CONTAINERS = (list, dict, set, bytearray, deque, Counter, OrderedDict, defaultdict)
_CHANGING = frozenset(
    {
        *("append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault"),
        *("pop", "popleft", "popitem", "remove", "discard", "clear", "subtract", "sort", "reverse"),
    }
)


def lost_change_warnings(nodes: Iterable[AnyNode]) -> Iterator[LostChangesWarning]:
    """Yield a warning for each function of a node that changes its own object."""
    for node in nodes:
        seen: set[str] = set()
        for function in _functions_of(_root(node)):
            change, name = lost_change(function), _name(function)
            if change and name not in seen:
                seen.add(name)
                yield LostChangesWarning(node.name, name, change)


def lost_change(function: Callable[..., Any]) -> str:
    """Return the attribute or variable whose changes are lost, such as `self.count`.

    Returns an empty text if no such change is found.
    """
    if isinstance(function, MethodType):
        return _change_of_method(function.__self__, function.__func__, nested=True)
    if isinstance(function, FunctionType):
        return _rebound(_unwrapped(function))
    call = getattr(type(function), "__call__", None)  # noqa: B004  # the method, to look at
    return _change_of_method(function, call, nested=True)


def _root(node: AnyNode) -> object:
    if isinstance(node, ProcessorNode):
        supplier: object = node.supplier
        maker = supplier.func if isinstance(supplier, partial) else type(supplier)
        # A user's own supplier makes a new processor for each batch.
        return supplier if _is_ours(getattr(maker, "__module__", None)) else None
    if isinstance(node, SinkNode) and isinstance(node.target, FunctionSink):
        return node.target
    return node.event_time if isinstance(node, SourceNode) else None


def _functions_of(root: object) -> Iterator[Callable[..., Any]]:
    """Yield the user's functions that an object of the library contains, at any depth."""
    waiting: list[Any] = [root]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_LOOKED_AT:
        found = waiting.pop()
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        if _is_users(found):
            yield found
        waiting.extend(reversed(list(_parts(found))))


def _is_users(found: Any) -> bool:  # noqa: ANN401  # whatever an object was given
    if isinstance(found, (type, partial)) or not callable(found):
        return False
    if isinstance(found, MethodType):
        return not _is_ours(getattr(found.__func__, "__module__", None))
    if isinstance(found, FunctionType):
        return not _is_ours(found.__module__)
    return isinstance(getattr(type(found), "__call__", None), FunctionType) and not _is_ours(  # noqa: B004
        type(found).__module__
    )


def _parts(found: object) -> Iterator[object]:
    """Yield the objects inside an object that may be, or may contain, the user's functions."""
    if isinstance(found, partial):
        yield from (found.func, *found.args, *found.keywords.values())
    elif isinstance(found, (tuple, list)):
        yield from found
    elif isinstance(found, MethodType):
        if _is_ours(getattr(found.__func__, "__module__", None)):
            yield found.__self__
    elif isinstance(found, FunctionType):
        yield from (cell.cell_contents for cell in found.__closure__ or () if _is_filled(cell))
    elif is_dataclass(found) and not isinstance(found, type):
        yield from (getattr(found, field.name, None) for field in fields(found))


def _is_filled(cell: Any) -> bool:  # noqa: ANN401  # a cell has no public type
    try:
        return callable(cell.cell_contents)
    except ValueError:
        return False


def _is_ours(module: str | None) -> bool:
    return (module or "").partition(".")[0].partition("_")[0] == "kstreams"


def _name(function: object) -> str:
    found = getattr(_unwrapped(function), "__qualname__", None)
    return found if isinstance(found, str) else type(function).__qualname__


def _unwrapped(function: Any) -> Any:  # noqa: ANN401  # any function
    """Return the function below decorators; the function itself if they form a circle."""
    try:
        return inspect.unwrap(function)
    except ValueError:
        return function


def _rebound(function: FunctionType) -> str:
    """Return the name of an outer variable that a function rebinds (`nonlocal`); else empty."""
    own = set(function.__code__.co_freevars)
    for step in dis.get_instructions(function):
        if step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in own:
            return str(step.argval)
    return ""


def _change_of_method(owner: object, method: object, *, nested: bool) -> str:
    tree = _tree_of(method)
    if tree is None or not tree.args.args or isinstance(owner, type):
        return ""
    looked_at = _Method(tree.args.args[0].arg, owner)
    for statement in tree.body:
        looked_at.visit(statement)
    if looked_at.changes:
        return looked_at.changes[0]
    if not nested:
        return ""
    calls = (inspect.getattr_static(type(owner), name, None) for name in looked_at.calls)
    found = (_change_of_method(owner, each, nested=False) for each in calls)
    return next(filter(None, found), "")


def _tree_of(method: object) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the syntax tree of a method; None if its source is not available."""
    function = inspect.unwrap(method) if callable(method) else method
    if not isinstance(function, FunctionType):
        return None
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    first = body[0] if body else None
    return first if isinstance(first, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


class _Method(ast.NodeVisitor):
    """Collects the changes that a method makes to its object, and the methods that it calls.

    Args:
        own: The name of the method's first parameter, usually `self`.
        owner: The object to which the method belongs.
    """

    def __init__(self, own: str, owner: object) -> None:
        self.changes: list[str] = []
        self.calls: list[str] = []
        self._own = own
        self._owner = owner
        self._tested: list[set[str]] = []

    def visit_If(self, node: ast.If) -> None:
        """Visit the branches, which may assign the attributes that the condition tests."""
        tested = {name for part in ast.walk(node.test) if (name := self._attribute(part))}
        self.visit(node.test)
        self._tested.append(tested)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)
        self._tested.pop()

    def visit_Assign(self, node: ast.Assign) -> None:
        """Record assignments to attributes of the object."""
        for target in node.targets:
            self._note(target, may_be_made=True)
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Record an annotated assignment to an attribute of the object."""
        if node.value is not None:
            self._note(node.target, may_be_made=True)
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Record an in-place change of an attribute, such as `+=`."""
        self._note(node.target)
        self.visit(node.value)

    def visit_Delete(self, node: ast.Delete) -> None:
        """Record the deletion of an attribute or of its items."""
        for target in node.targets:
            self._note(target)

    def visit_Call(self, node: ast.Call) -> None:
        """Record a call of the object's method, or a call that changes a container attribute."""
        function = node.func
        if isinstance(function, ast.Attribute):
            name = self._attribute(function)
            if name:
                self.calls.append(name)
            inner = self._attribute(function.value)
            if inner and function.attr in _CHANGING and self._is_container(inner):
                self.changes.append(f"{self._own}.{inner}")
        self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Skip a lambda: it may never be called."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Skip a nested function: it may never be called."""

    def _note(self, target: ast.expr, *, may_be_made: bool = False) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self._note(part, may_be_made=may_be_made)
            return
        name = self._attribute(target)
        if name and not (may_be_made and any(name in tested for tested in self._tested)):
            self.changes.append(f"{self._own}.{name}")
        elif isinstance(target, (ast.Subscript, ast.Attribute)) and not name:
            inner = self._attribute(target.value)
            if inner:
                self.changes.append(f"{self._own}.{inner}")

    def _attribute(self, node: ast.AST) -> str:
        """Return the attribute's name if a node is an attribute of the object; otherwise empty."""
        is_own = (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == self._own
        )
        return node.attr if is_own and isinstance(node, ast.Attribute) else ""

    def _is_container(self, name: str) -> bool:
        try:
            return isinstance(inspect.getattr_static(self._owner, name), _CONTAINERS)
        except AttributeError:
            return False
