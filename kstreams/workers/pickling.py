"""Pickles the settings of a stage; user code without an importable module is pickled by value."""

from __future__ import annotations

import io
from contextlib import suppress
from types import CodeType
from typing import Any

import cloudpickle

from kstreams.batch.worker.stage_settings import StageSettings
from kstreams.call_site import origin_text
from kstreams.errors import CompileError, Where
from kstreams.quoting import text_of
from kstreams.user_code import runpy_scripts
from kstreams.workers.struct_classes import is_struct, make_struct, struct_arguments
from kstreams.workers.type_hints import resolved_annotations

__all__ = ("dumped", "pickled")

_NO_FILE = "<dynamic-code>"
"""The name of a file in code that cloudpickle has pickled."""
_STATE = 2
"""The position of the class members in cloudpickle's result for a class."""
_MSGSPEC_CACHE = "__msgspec_cache__"
"""The attribute in which msgspec caches data of a class; it is recreated if missing, and not
picklable.
"""


def pickled(settings: StageSettings) -> bytes:
    """Pickle the settings of a stage for workers.

    Raises:
        CompileError: The settings cannot be pickled. If the cause is an object of a node, the error
            names the node.
    """
    try:
        return dumped(settings)
    except Exception as exc:  # whatever an object of the user's raises
        for node in settings.group.nodes:
            try:
                dumped(node)
            except Exception as cause:  # as above
                raise CompileError(
                    f"the node cannot be sent to executors: {text_of(cause)}",
                    hint="create connections, locks and files in the processor's init.",
                    where=Where(
                        group=settings.group.name,
                        node=node.name,
                        origin=origin_text((node,), node.name),
                    ),
                ) from cause
        raise CompileError(
            "the backend, the connection or an interceptor cannot be sent to executors: "
            f"{text_of(exc)}",
            hint="pass objects that can be pickled: settings, without open connections, locks or "
            "files.",
        ) from exc


def dumped(item: object) -> bytes:
    """Pickle any object for workers; raises the exception of an object that cannot be pickled."""
    for module in runpy_scripts():
        cloudpickle.register_pickle_by_value(module)
    data = io.BytesIO()
    _Pickler(data).dump(item)
    return data.getvalue()


class _Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]  # it has no types
    """Pickles the classes of a script by value, so that serdes in workers can read their fields.

    The cache that msgspec keeps on a class is left out, and text in annotations is resolved. Code
    keeps the name of its file, which tracebacks show; cloudpickle replaces this name.
    """

    def reducer_override(self, obj: object) -> Any:  # noqa: ANN401  # as pickle has it
        """Return the reduced form of an object; see `pickle.Pickler.reducer_override`."""
        if isinstance(obj, CodeType):
            code: Any = self.dispatch_table[CodeType](obj)
            make, parts = code
            return make, tuple(obj.co_filename if each == _NO_FILE else each for each in parts)
        if isinstance(obj, type) and _MSGSPEC_CACHE in vars(obj):
            with suppress(AttributeError):  # another thread was quicker
                delattr(obj, _MSGSPEC_CACHE)
        reduced: Any = super().reducer_override(obj)
        if isinstance(obj, type) and isinstance(reduced, tuple) and len(reduced) > _STATE:
            members, _ = reduced[_STATE]  # of a class by value; a copy made for this pickle
            if "__annotations__" in members:
                members["__annotations__"] = resolved_annotations(obj)
            if is_struct(obj):
                return (make_struct, struct_arguments(obj), *reduced[_STATE:])
        return reduced
