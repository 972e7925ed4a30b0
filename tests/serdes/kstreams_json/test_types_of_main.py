"""Types that are sent to workers by value, as those of `__main__` are."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Any

from pyspark import cloudpickle

from kstreams_json.serde import JsonSerde


def test_a_dataclass_of_main_can_be_sent() -> None:
    made = make_dataclass("Order", [("item", str)])
    made.__module__ = "__main__"
    serde: JsonSerde[Any] = JsonSerde(made, None, strict=True, enc_hook=None, dec_hook=None)
    assert serde.from_json({"item": "tea"}) == made("tea")  # notes its fields on the class
    sent = cloudpickle.loads(cloudpickle.dumps(serde))  # type: ignore[no-untyped-call]
    assert sent.deserialize(b'{"item": "tea"}').item == "tea"
    assert serde.deserialize(b'{"item": "tea"}') == made("tea")
