"""Type hints of classes that are pickled by value for workers.

Workers cannot import the module of such a class, so names in its type hints are unknown there.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FunctionType
from typing import get_type_hints

__all__ = ("resolved_annotations",)


def resolved_annotations(type_: type) -> dict[str, object]:
    """Return a class's own annotations; annotations that are text are evaluated to types.

    Serdes evaluate annotations in the module of the class. A class of a script is sent to workers
    by value, and the module with that name in a worker is another module: `Item` in the annotation
    `list[Item]` is unknown, even if the class `Item` is sent, too.

    Args:
        type_: Any class. Annotations of its base classes are not returned.

    Returns:
        The annotations by name, empty if there are none. An annotation that has no meaning at
        run time, such as a name imported under `TYPE_CHECKING`, remains as it is.
    """
    module_names = _namespace(type_)
    parameters = {each.__name__: each for each in getattr(type_, "__type_params__", ())}
    own_names = {**vars(type_), **parameters}
    return {
        name: _resolved(type_, name, hint, own_names, module_names)
        for name, hint in vars(type_).get("__annotations__", {}).items()
    }


def _resolved(
    type_: type,
    name: str,
    hint: object,
    own_names: dict[str, object],
    module_names: Mapping[str, object],
) -> object:
    holder = type(
        type_.__name__, (), {"__annotations__": {name: hint}, "__module__": type_.__module__}
    )
    try:
        # Names of the module win over those of the class, as `get_type_hints` has it by default.
        return get_type_hints(holder, own_names, module_names, include_extras=True)[name]
    except Exception:  # noqa: BLE001  # whatever evaluating the user's text raises
        return hint


def _namespace(type_: type) -> Mapping[str, object]:
    """Return the global names of the code that defines a class.

    Methods have these names even if the module of a script run by `runpy` is gone.
    """
    for member in vars(type_).values():
        if isinstance(member, FunctionType):
            names: dict[str, object] = member.__globals__
            if names.get("__name__") == type_.__module__:
                return names
    return getattr(sys.modules.get(type_.__module__), "__dict__", {})
