"""Load the object of `MODULE:NAME`: a topology, or any other object of the user."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import Any

from kstreams.batch.io.open_feed import check_connection
from kstreams.connection import Connection
from kstreams.errors import CompileError
from kstreams.graph.building.builder import TopologyBuilder
from kstreams.graph.topology import Topology
from kstreams_cli.usage import WrongUsageError, for_option

__all__ = ("load_connection", "load_object", "load_topology")


def load_topology(target: str) -> Topology:
    """Return the topology that `MODULE:NAME` names; the current directory is importable.

    NAME is a `Topology`, a `TopologyBuilder`, or a function without arguments that
    returns one. Without `:NAME`, it is the module's only topology, or its only builder
    if it has no topology. MODULE may be the path of a file below the current directory.

    Raises:
        WrongUsageError: The module or the name does not exist, or it is not a topology.
        Exception: An error of the user's code, mostly `TopologyError`.
    """
    module, name = _split(target)
    found = _attribute(module, name) if name else _only_topology(module)
    if callable(found) and not isinstance(found, (Topology, TopologyBuilder)):
        found = _called(found, target)
    if isinstance(found, TopologyBuilder):
        return found.build()
    if isinstance(found, Topology):
        return found
    raise WrongUsageError(
        f"{target} is {_kind(found)}, expected a Topology, a TopologyBuilder, or a function "
        f"that returns one{_others(module)}"
    )


def load_object(target: str) -> object:
    """Return the object of `MODULE:NAME`.

    Raises:
        WrongUsageError: The module or the name does not exist.
    """
    module, name = _split(target)
    if not name:
        raise WrongUsageError(f"{target!r} is not MODULE:NAME: the name is missing")
    return _attribute(module, name)


def load_connection(target: str) -> Connection:
    """Return the connection that `--connection MODULE:NAME` names.

    Raises:
        WrongUsageError: The module or the name does not exist, or it is not a connection.
    """
    with for_option("--connection"):
        found: Any = load_object(target)
    try:
        check_connection(found)
    except CompileError as exc:
        raise WrongUsageError(
            f"{target} is not a connection: {exc.message}", "--connection"
        ) from exc
    checked: Connection = found
    return checked


def _split(target: str) -> tuple[ModuleType, str]:
    path, _, name = target.partition(":")
    return _module(_dotted(path)), name


def _dotted(path: str) -> str:
    """Return the module name of the path of a file below the current directory."""
    if not path.endswith(".py"):
        return path
    file = Path(path).absolute()
    if not file.is_file() or not file.is_relative_to(Path.cwd()):
        raise WrongUsageError(f"file {path} does not exist below the current directory")
    return ".".join(file.relative_to(Path.cwd()).with_suffix("").parts)


def _module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise WrongUsageError(f"{name!r} is not the name of a module, such as shop.app")
    _make_importable(Path.cwd())
    try:
        return import_module(name)
    except ModuleNotFoundError as exc:
        missing = exc.name or ""
        if name != missing and not name.startswith(f"{missing}."):
            raise  # the module exists; one of its imports does not
        raise WrongUsageError(f"there is no module {missing!r}{_near_modules(missing)}") from None


def _make_importable(directory: Path) -> None:
    """Put a directory first on the import path of this process and of future Python workers."""
    place = str(directory)
    if place not in sys.path:
        sys.path.insert(0, place)
    others = os.environ.get("PYTHONPATH", "")
    if place not in others.split(os.pathsep):
        os.environ["PYTHONPATH"] = f"{place}{os.pathsep}{others}" if others else place
    invalidate_caches()


def _near_modules(name: str) -> str:
    parent, _, last = name.rpartition(".")
    folder = Path.cwd().joinpath(*parent.split(".")) if parent else Path.cwd()
    known = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    known |= {path.parent.name for path in folder.glob("*/__init__.py")}
    near = get_close_matches(last, sorted(known), n=1)
    if near:
        return f"; did you mean {f'{parent}.{near[0]}' if parent else near[0]!r}?"
    return f" on the path or in {folder}"


def _attribute(module: ModuleType, name: str) -> object:
    found: object = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            near = get_close_matches(part, _public(found), n=1)
            raise WrongUsageError(
                f"module {module.__name__!r} has no {name!r}"
                + (f"; did you mean {near[0]!r}?" if near else _others(module))
            ) from None
    return found


def _only_topology(module: ModuleType) -> object:
    names = _topologies(module)
    if len(names) == 1:
        return getattr(module, names[0])
    problem = "has several topologies" if names else "has no variable with a topology or builder"
    raise WrongUsageError(
        f"module {module.__name__!r} {problem}: give MODULE:NAME{_others(module)}"
    )


def _called(function: Callable[[], object], target: str) -> object:
    try:
        return function()
    except TypeError as exc:
        if exc.__traceback__ is None or exc.__traceback__.tb_next is not None:
            raise
        raise WrongUsageError(f"{target} cannot be called without arguments: {exc}") from exc


def _others(module: ModuleType) -> str:
    names = _topologies(module)
    return f"; topologies in the module: {', '.join(names)}" if names else ""


def _topologies(module: ModuleType) -> list[str]:
    """Return the names of a module's topologies; without topologies, those of its builders."""
    return _names_of(module, Topology) or _names_of(module, TopologyBuilder)


def _names_of(module: ModuleType, kind: type) -> list[str]:
    return [name for name, value in vars(module).items() if isinstance(value, kind)]


def _public(owner: object) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


def _kind(value: object) -> str:
    return f"a class {value.__name__}" if isinstance(value, type) else type(value).__name__
