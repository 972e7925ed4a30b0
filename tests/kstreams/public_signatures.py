"""The annotations of all public signatures, as an editor shows them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

from tests.kstreams.public_modules import FACES, file_of, home_of, names_of, tree_of

__all__ = ("ANY", "PUBLIC", "Mention", "definitions", "mentions", "undocumented")

ANY = ("typing", "Any")
PUBLIC = {home_of(face, name): name for face in FACES for name in names_of(face)}
"""Public names by module and name of their definition."""

_SHOWN = ("__init__", "__call__", "__iter__", "__next__", "__getitem__")
_Callable = ast.FunctionDef | ast.AsyncFunctionDef
_DOCUMENTED = ast.ClassDef | _Callable


class Mention(NamedTuple):
    """A type named in a signature, and its place."""

    place: str
    module: str
    name: str


def definitions(module: str, name: str) -> list[ast.stmt]:
    """Return the statements that define a name; several for a function with overloads."""
    return [node for node in tree_of(module).body if name in _names(node)]


def mentions() -> Iterator[Mention]:
    """Yield the types of this library and of `typing` in the signatures of all public names."""
    for (module, name), shown in sorted(PUBLIC.items()):
        found = definitions(module, name)
        if isinstance(found[0], ast.ClassDef):
            yield from _of_class(module, found[0], shown, {(module, name)})
        elif isinstance(found[0], _Callable):
            yield from _of_functions(module, found, shown)
        elif isinstance(found[0], ast.Assign) and not isinstance(found[0].value, ast.Call):
            yield from _of(module, found[0].value, shown)


def undocumented() -> Iterator[str]:
    """Yield public classes, functions and methods without a docstring.

    A method with `@override` may inherit that of its base.
    """
    for (module, name), shown in sorted(PUBLIC.items()):
        found = definitions(module, name)[-1]
        if isinstance(found, _DOCUMENTED) and not ast.get_docstring(found):
            yield shown
        if isinstance(found, ast.ClassDef):
            last = {each.name: each for each in found.body if isinstance(each, _Callable)}
            for method, function in last.items():
                if method.startswith(("_", "test_")) or ast.get_docstring(function):
                    continue
                overrides = "override" in map(ast.unparse, function.decorator_list)
                if not overrides or not _inherited_doc(module, name, method):
                    yield f"{shown}.{method}"


def _inherited_doc(module: str, name: str, method: str) -> str | None:
    return inspect.getdoc(getattr(getattr(import_module(module), name), method))


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, _DOCUMENTED):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _of_class(
    module: str, node: ast.ClassDef, place: str, seen: set[tuple[str, str]]
) -> Iterator[Mention]:
    methods: dict[str, list[ast.stmt]] = {}
    for each in node.body:
        if isinstance(each, _Callable):
            methods.setdefault(each.name, []).append(each)
        elif isinstance(each, ast.AnnAssign) and not (name := ast.unparse(each.target)).startswith(
            "_"
        ):
            yield from _of(module, each.annotation, f"{place}.{name}")
    for name, functions in methods.items():
        if not name.startswith("_") or name in _SHOWN:
            yield from _of_functions(module, functions, f"{place}.{name}")
    for base in node.bases:  # members of a private base are visible too
        plain = base.value if isinstance(base, ast.Subscript) else base
        home = home_of(module, plain.id) if isinstance(plain, ast.Name) else ("", "")
        if home[0].startswith("kstreams") and home not in PUBLIC and home not in seen:
            seen.add(home)
            for found in definitions(*home):
                if isinstance(found, ast.ClassDef):
                    yield from _of_class(home[0], found, place, seen)


def _of_functions(module: str, found: list[ast.stmt], place: str) -> Iterator[Mention]:
    functions = [node for node in found if isinstance(node, _Callable)]
    overloads = [node for node in functions if "overload" in map(ast.unparse, node.decorator_list)]
    for node in overloads or functions:
        given = node.args
        named = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        for each in named:
            if each is not None and each.annotation is not None and each.arg != "self":
                yield from _of(module, each.annotation, f"{place}({each.arg})")
        if node.returns is not None:
            yield from _of(module, node.returns, f"{place}()")


def _of(module: str, annotation: ast.expr, place: str) -> Iterator[Mention]:
    """Yield the types in an annotation; private aliases are resolved."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        yield from _of(module, ast.parse(annotation.value, mode="eval").body, place)
    elif isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Literal":
        return
    elif not isinstance(annotation, ast.Name):
        for part in ast.iter_child_nodes(annotation):
            if isinstance(part, ast.expr):
                yield from _of(module, part, place)
    else:
        home, name = home_of(module, annotation.id)
        if (home, name) == ANY:
            yield Mention(place, home, name)
        elif home.startswith("kstreams") and file_of(home).exists():
            found = definitions(home, name)
            value = found[0].value if found and isinstance(found[0], ast.Assign) else None
            if (home, name) in PUBLIC or not found or isinstance(value, ast.Call):
                return  # public, a builtin, or a type variable
            if value is None:
                yield Mention(place, home, name)
            else:
                yield from _of(home, value, place)
