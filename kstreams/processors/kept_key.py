"""Functions that return the record's key, or the key of its windows: records keep their partition.

The partition of a windowed key is that of the key without its windows.
"""

from __future__ import annotations

import dis
from typing import Protocol, runtime_checkable

from kstreams.expressions.function import TreeFunction
from kstreams.expressions.tree import Part, Whole

__all__ = ("KeptKeySupplier", "keeps_partition")

_SKIPPED = frozenset({"CACHE", "NOP", "RESUME"})
_KEY = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK"})


@runtime_checkable
class KeptKeySupplier(Protocol):
    """A supplier of an operator that may return records to the partition of their keys."""

    @property
    def keeps_partition(self) -> bool:
        """Return whether new keys are known to be the old ones, with or without their windows."""
        ...


def keeps_partition(function: object) -> bool:
    """Return whether a function of key and value is known to return the key or its `key`.

    That is known for `lambda key, _: key`, `lambda window, _: window.key`, such functions defined
    with `def`, and their `columns(...)`. The code is read, and never run.

    Args:
        function: The function of an operator that replaces keys.
    """
    if isinstance(function, TreeFunction):
        return function.tree in (Whole("key"), Part("key", "key"))
    code = getattr(function, "__code__", None)
    if code is None or code.co_argcount != 2:
        return False
    steps = [step for step in dis.get_instructions(code) if step.opname not in _SKIPPED]
    if not steps or steps[0].opname not in _KEY or steps[0].argval != code.co_varnames[0]:
        return False
    *reads, last = steps[1:]
    reads_key = all(step.opname == "LOAD_ATTR" and step.argval == "key" for step in reads)
    return reads_key and last.opname == "RETURN_VALUE"
