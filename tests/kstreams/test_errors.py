"""Errors are complete after a transfer to another process."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any

import pytest

from kstreams import errors
from kstreams.errors import (
    AppLockedError,
    BrokerUnavailableError,
    DeliveryError,
    ForeignDirectoryError,
    KStreamsError,
    ProcessingError,
    StoreOpenError,
    TopologyError,
    UnknownNodeError,
    Where,
)

_CLASSES = [
    found
    for _, found in inspect.getmembers(errors, inspect.isclass)
    if issubclass(found, KStreamsError)
]
_WHERE = Where("app", "group", "node", "store", "topic", 1, 2, 3, "key")


def made(kind: type[KStreamsError]) -> KStreamsError:
    """Create an error of a class; some classes have their own hint."""
    if kind is ForeignDirectoryError:
        return ForeignDirectoryError(Path("/tmp/a"), "it is a link")
    if kind is BrokerUnavailableError:
        return BrokerUnavailableError("broker:9092", "timed out", "_TRANSPORT")
    if kind is DeliveryError:
        return DeliveryError("what happened", "_MSG_TIMED_OUT")
    return kind("what happened", hint="do this")


def test_all_error_classes_are_public() -> None:
    public = {*errors.__all__} - {"Where", "LateResultsWarning", "LostChangesWarning"}
    assert {found.__name__ for found in _CLASSES} == public


@pytest.mark.parametrize("kind", _CLASSES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_each_error_survives_pickling(kind: type[KStreamsError], protocol: int) -> None:
    error = made(kind)
    error.at(**vars(_WHERE))
    error.__cause__ = ValueError("cannot be pickled", lambda: None)
    found = pickle.loads(pickle.dumps(error, protocol))
    assert type(found) is kind
    assert str(found) == str(error)
    assert (found.message, found.hint, found.where) == (error.message, error.hint, _WHERE)
    assert found.args == error.args
    with pytest.raises(kind):
        raise found


@pytest.mark.parametrize(
    ("error", "field", "value"),
    [
        (TopologyError("m", problems=("a", "b")), "problems", ("a", "b")),
        (UnknownNodeError("m", problems=("a",)), "problems", ("a",)),
        (ProcessingError("m", cause_type="x.Y", cause_traceback="t"), "cause_type", "x.Y"),
        (AppLockedError("m", owner="me"), "owner", "me"),
    ],
    ids=lambda item: type(item).__name__ if isinstance(item, Exception) else "",
)
def test_additional_error_fields_survive_pickling(
    error: KStreamsError, field: str, value: object
) -> None:
    found = pickle.loads(pickle.dumps(error))
    assert getattr(found, field) == getattr(error, field) == value
    assert str(found) == str(error)


@pytest.mark.parametrize("key", [lambda: None, {"a": 1}, ("a", 2), object])
def test_error_key_that_may_not_pickle_is_pickled_as_text(key: Any) -> None:
    found = pickle.loads(pickle.dumps(KStreamsError("m").at(key=key)))
    assert found.where.key == repr(key)


@pytest.mark.parametrize("key", ["k", b"k", 3, 2.5, True, None])
def test_plain_error_key_is_pickled_unchanged(key: object) -> None:
    assert pickle.loads(pickle.dumps(KStreamsError("m").at(key=key))).where.key == key


def test_error_notes_survive_pickling() -> None:
    error = KStreamsError("m")
    getattr(error, "add_note", lambda _: None)("look here")
    found = pickle.loads(pickle.dumps(error))
    assert getattr(found, "__notes__", None) == getattr(error, "__notes__", None)


def test_error_text_has_place_and_then_hint() -> None:
    assert str(KStreamsError("m", hint="h").at(**vars(_WHERE))) == (
        "m [app 'app', group 'group', node 'node', store 'store', topic 'topic', partition 1, "
        "offset 2, timestamp 3 ms, key 'key']\nHint: h"
    )
    assert str(KStreamsError("m")) == "m"


def test_error_text_truncates_long_key() -> None:
    assert str(KStreamsError("m").at(key="x" * 1_000)).endswith("xxx…]")


def test_error_at_keeps_known_parts_of_place() -> None:
    error = KStreamsError("m", where=Where(node="inner")).at(node="outer", partition=0)
    assert (error.where.node, error.where.partition) == ("inner", 0)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (TopologyError("m"), ValueError),
        (UnknownNodeError("m"), KeyError),
        (StoreOpenError("m"), OSError),
        (ProcessingError("m"), RuntimeError),
    ],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_errors_can_be_caught_as_builtin_exceptions(
    error: KStreamsError, builtin: type[Exception]
) -> None:
    with pytest.raises(builtin, match=r"^m$"):
        raise error
