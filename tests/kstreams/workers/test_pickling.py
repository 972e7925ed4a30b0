"""Pickling of functions and classes by value for workers."""

from __future__ import annotations

import pickle
from dataclasses import make_dataclass
from typing import Any

from kstreams.serde import Serde
from kstreams.workers.pickling import dumped
from kstreams_json import json_serde


def test_class_of_program_is_pickled_with_serde_that_uses_it() -> None:
    line = make_dataclass("Line", [("item", str)])
    order = make_dataclass("Order", [("lines", list[line])])  # type: ignore[valid-type]
    serde: Serde[Any] = json_serde(order)
    data = serde.serialize(order([line("tea")]))
    again = pickle.loads(dumped(serde))
    assert str(again.deserialize(data)) == str(serde.deserialize(data))
    assert again.serialize(again.deserialize(data)) == data


def test_function_of_script_keeps_file_name_for_tracebacks() -> None:
    scope: dict[str, Any] = {"__name__": "__main__"}
    script = compile("def fail():\n    raise ValueError", "/home/user/script.py", "exec")
    exec(script, scope)  # noqa: S102  # as Python runs a script
    copy = pickle.loads(dumped(scope["fail"]))
    assert copy.__code__.co_filename == "/home/user/script.py"
