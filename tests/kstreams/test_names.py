"""The rule for names used in paths, and the encoding of other names."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.errors import InvalidNameError
from kstreams.names import (
    check_checkpoint_id,
    check_step,
    is_topic,
    path_step,
    shown_name,
    step_problem,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    "name", ["word-count", "Zähler 2", "a:b", "a.b@c", "日本", "~", "a" * 255, "é" * 127, "%2e%2e"]
)
def test_name_check_accepts_name_that_is_distinct_in_every_file_system(name: str) -> None:
    assert check_step("a name", name) == name


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "is empty"),
        ("..", "an existing directory"),
        ("../x", "has a '/'"),
        ("/etc", "has a '/'"),
        (".hidden", r"begins with a '\.'"),
        ("a\0b", "control characters"),
        ("a\nb", "control characters"),
        ("a\x1b[2Jb", "control characters"),
        ("a\u2028b", "line breaks"),
        ("\udcff", "a lone surrogate"),
        ("a" * 256, "has 256 bytes"),
        ("é" * 128, "has 256 bytes"),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_name_check_rejects_name_that_is_not_a_path_component(name: str, why: str) -> None:
    with pytest.raises(InvalidNameError, match=why) as caught:
        check_step("the app's id", name)
    assert caught.value.name == name
    assert str(caught.value).startswith("the app's id cannot be ")
    assert "any characters but" in caught.value.hint
    assert str(caught.value).splitlines()[0].isprintable()
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "epoch", ["", "..", "0123456789AB", "0123456789abc", "../../etc/x", None, 1]
)
def test_checkpoint_id_has_12_hex_digits(epoch: object) -> None:
    assert check_checkpoint_id("0123456789ab", "it") == "0123456789ab"
    with pytest.raises(InvalidNameError, match=r"app\.json has the checkpoint id .*12 hex digits"):
        check_checkpoint_id(epoch, "app.json")


@given(TEXT)
def test_any_name_has_path_component_that_stays_in_its_directory(name: str) -> None:
    step = path_step(name)
    assert PurePosixPath("above", step).parts == ("above", step)
    assert step not in (".", "..")
    assert "\0" not in step


@given(TEXT, TEXT)
def test_different_names_have_different_path_components(one: str, other: str) -> None:
    assert (path_step(one) == path_step(other)) == (one == other)


@given(TEXT.filter(lambda name: not step_problem(name) and not name.startswith("%")))
def test_valid_name_is_its_own_path_component(name: str) -> None:
    assert path_step(name) == name


def test_shown_name_is_short_and_escaped() -> None:
    assert shown_name("a\x1b[31m\nb") == r"'a\x1b[31m\nb'"
    assert len(shown_name("a" * 10_000)) < 100


def test_topic_name_is_valid_in_both_kinds_of_connections() -> None:
    assert is_topic("a.B_c-9")
    for name in ("", ".", "..", "../x", "a/b", "a b", "a\n", "ä", "a" * 250, None):
        assert not is_topic(name)
