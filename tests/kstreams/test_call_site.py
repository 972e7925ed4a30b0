"""Call sites are data: their text is safe to print."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.call_site import origin_text
from kstreams.topology import CallSite, SinkNode, StdoutSink

HOSTILE = "<b>\n\x1b[2J[red]\u2028.py"


@given(file=st.text(min_size=1), line=st.integers(1))
def test_text_of_a_call_site_is_one_printable_line(file: str, line: int) -> None:
    text = str(CallSite(file, line))
    assert text.endswith(f":{line}")
    assert len(text.splitlines()) == 1
    assert "\x1b" not in text
    text.encode()


def test_text_of_a_call_site_has_file_and_line() -> None:
    assert str(CallSite("shop.py", 12)) == "shop.py:12"


def test_text_of_a_long_file_name_is_cut() -> None:
    assert len(str(CallSite("x" * 10_000, 1))) < 400


def test_call_site_survives_pickling() -> None:
    site = CallSite(HOSTILE, 12)
    assert pickle.loads(pickle.dumps(site)) == site


@pytest.mark.parametrize(("file", "line"), [("", 1), ("shop.py", 0), ("shop.py", -1)])
def test_call_site_rejects_an_unnamed_file_and_lines_below_one(file: str, line: int) -> None:
    with pytest.raises(ValueError, match=r"name of a file|expected 1 or more"):
        CallSite(file, line)


def test_origin_text_is_that_of_the_named_node() -> None:
    nodes = [
        SinkNode("a", StdoutSink(), ("in",), origin=CallSite("shop.py", 1)),
        SinkNode("b", StdoutSink(), ("in",)),
    ]
    assert origin_text(nodes, "a") == "shop.py:1"
    assert [origin_text(nodes, name) for name in ("b", "c", None)] == [None, None, None]
