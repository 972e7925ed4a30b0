"""Executions of topologies: by records only, and with a count of Python calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from kstreams import Record
from kstreams.ids import TaskId


class ByRecord:
    """An interceptor of records; no columns run around it."""

    def bind(
        self, node: str, task: TaskId, call: Callable[[Record[Any, Any]], None]
    ) -> Callable[[Record[Any, Any]], None]:
        return call


@contextmanager
def python_calls() -> Iterator[dict[CodeType, int]]:
    """Count the calls of Python functions in the block, by their code."""
    found: dict[CodeType, int] = {}

    def seen(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found[frame.f_code] = found.get(frame.f_code, 0) + 1

    sys.setprofile(seen)
    try:
        yield found
    finally:
        sys.setprofile(None)
