"""Keep pyarrow from importing pandas while no other module needs pandas."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np
import pyarrow as pa

__all__ = ("leave_pandas_out",)

_NAME = "pandas"


def leave_pandas_out() -> None:
    """Keep pyarrow from importing pandas until another module imports pandas.

    pyarrow imports pandas at its first array, to check whether the input is a Series and to find
    the null and time objects of pandas. The import dominates the start of the driver and of each
    worker, and this library does not use pandas. This function answers the first check while pandas
    cannot be found, and the second from the few pandas modules with those objects. A later import
    of pandas loads all of it; before that import returns, pyarrow repeats the first check.

    If pandas is imported already, is not installed or has another structure than expected, pyarrow
    imports pandas as usual.
    """
    if _NAME in sys.modules:
        return
    finder = _LatePandas()
    sys.meta_path.insert(0, finder)
    finder.answer()


class _EnoughError(Exception):
    """Aborts the import of pandas once the parts that pyarrow needs are loaded."""


class _LatePandas:
    """An import finder for pandas that chooses when pyarrow checks for pandas."""

    def __init__(self) -> None:
        self._asked_in = 0  # the thread in which pyarrow asks: others find pandas meanwhile
        self._is_hidden = False
        self._module: ModuleType | None = None
        self._given: dict[str, object] = {}

    def answer(self) -> None:
        """Make pyarrow run both of its checks for pandas now."""
        self._asked_in = threading.get_ident()
        try:
            self._is_hidden = True
            pa.array(np.zeros(1))  # whether this is a Series
            self._is_hidden = False
            import_module(_NAME)
        except Exception:  # noqa: BLE001, S110  # missing or broken: its real import raises the error
            pass
        finally:
            self._asked_in = 0

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find pandas, and no other module."""
        if name != _NAME:
            return None
        is_asked = self._asked_in == threading.get_ident()
        if is_asked and self._is_hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        for finder in sys.meta_path:
            if isinstance(finder, _LatePandas):
                continue
            found = finder.find_spec(name, path, target)
            if found is not None and found.loader is not None:
                self._watch(found.loader, in_part=is_asked)
                return found
        return None

    def _watch(self, loader: Loader, *, in_part: bool) -> None:
        """Replace how `loader` executes the module pandas.

        If `in_part`, it executes only the modules that pyarrow's check needs, and aborts the
        import. Otherwise it executes all of pandas, and then lets pyarrow repeat its check.
        """
        if self._module is not None:  # modules of its part have it as `pandas`
            loader.create_module = lambda spec: self._module  # type: ignore[method-assign]
        execute = self._execute_part if in_part else partial(self._execute, loader.exec_module)
        loader.exec_module = execute  # type: ignore[method-assign]

    def _execute_part(self, module: ModuleType) -> None:
        self._module = module
        times = import_module(f"{_NAME}._libs.tslibs")
        missing = import_module(f"{_NAME}._libs.missing")
        self._given = {name: getattr(times, name) for name in ("NaT", "Timedelta", "Timestamp")}
        self._given |= {"NA": missing.NA, "DateOffset": times.offsets.DateOffset}
        vars(module).update(self._given)
        pa.array([0])  # PyArrow checks for pandas objects once per process
        module.__getattr__ = _of_whole_pandas  # type: ignore[method-assign]
        raise _EnoughError

    def _execute(self, execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        vars(module).pop("__getattr__", None)
        execute(module)
        pa.array(np.zeros(1)).to_pandas()  # asks again whether this is a Series
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        other = [name for name, value in self._given.items() if getattr(module, name) is not value]
        if other:
            warnings.warn(f"pyarrow knows other {', '.join(other)} than pandas has", stacklevel=2)


def _of_whole_pandas(name: str) -> object:
    """Return an attribute of the complete pandas, for a thread that got the partial module."""
    return getattr(import_module(_NAME), name)
