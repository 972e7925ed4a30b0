"""Errors of workers arrive in the driver unchanged, through text created by Spark."""

from __future__ import annotations

import base64
import pickle
import threading
from typing import Any
from unittest.mock import ANY

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

import kstreams.errors as errors
from kstreams.batch.messages.error_json import from_json, to_json
from kstreams.errors import (
    AppLockedError,
    ExecutionError,
    KStreamsError,
    ProcessingError,
    SerializationError,
    StateCorruptError,
    TopologyError,
    Where,
)
from kstreams.quoting import repr_of
from kstreams.spark.failure import ErrorChannel, typed
from tests.kstreams.test_errors import made

WHERE = Where(
    app="app",
    group="g",
    node="n",
    store="s",
    topic="t",
    partition=1,
    offset=2,
    timestamp=3,
    key="k",
)
CLASSES = [
    kind
    for name in errors.__all__
    if isinstance(kind := getattr(errors, name), type) and issubclass(kind, KStreamsError)
]


CHANNEL = ErrorChannel()


def _text(error: BaseException, channel: ErrorChannel = CHANNEL) -> str:
    """Return the text that Spark creates for an error of a worker."""
    raised = str(channel.wrap(error))
    return f"Job aborted due to stage failure\n\tat {raised}\n\tat java.lang.Thread.run"


def _through_spark(error: BaseException) -> KStreamsError | None:
    return CHANNEL.find(RuntimeError(_text(error)))


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_each_error_class_survives_transfer(kind: type[KStreamsError]) -> None:
    error = made(kind).at(**{name: getattr(WHERE, name) for name in WHERE.__dict__})
    if isinstance(error, TopologyError):
        error.problems = ("one", "two")
    if isinstance(error, AppLockedError):
        error.owner = "me"
    found = _through_spark(error)
    assert type(found) is kind
    assert found.__dict__ == error.__dict__
    assert str(found) == str(error)


def test_exception_of_user_code_is_shown_as_cause() -> None:
    error = ProcessingError("boom", cause_type="m.Boom", cause_traceback="Traceback: x" * 10_000)
    found = _through_spark(error)
    assert isinstance(found, ProcessingError)
    assert found.cause_type == "m.Boom"
    assert len(found.cause_traceback) == 30_000
    assert "Traceback: x" in str(found.__cause__)


def test_other_exceptions_become_execution_errors_with_their_traceback() -> None:
    def fail() -> None:
        raise ZeroDivisionError("oh")

    with pytest.raises(ZeroDivisionError) as caught:
        fail()
    found = _through_spark(caught.value)
    assert type(found) is ExecutionError
    assert "ZeroDivisionError in a worker: oh" in found.message
    assert "in fail" in found.message


def test_key_that_cannot_be_pickled_is_sent_as_text() -> None:
    lock = threading.Lock()
    found = _through_spark(StateCorruptError("x", where=Where(key=lock)))
    assert found is not None
    assert found.where.key == repr(lock)


def test_error_class_of_user_is_reduced_to_text_and_place() -> None:
    class Odd(KStreamsError):
        """An error of a user's serde."""

    found = _through_spark(Odd("odd", hint="mend it", where=WHERE))
    assert type(found) is ExecutionError
    assert "odd" in found.message
    assert found.hint == "mend it"
    assert found.where == WHERE


def test_class_unknown_to_driver_is_reduced_to_text() -> None:
    assert CHANNEL.find(RuntimeError("<<kstreams-error:AAAA>>")) is None
    assert CHANNEL.find(RuntimeError("no mark")) is None


def test_exception_of_no_library_class_is_converted_to_execution_error() -> None:
    own = SerializationError("x")
    assert typed(own) is own
    found = CHANNEL.find(RuntimeError(str(CHANNEL.wrap(own))))
    assert found is not None
    assert (type(found), found.message) == (SerializationError, "x")
    disk = OSError(28, "No space left on device")
    found = typed(disk)
    assert type(found) is ExecutionError
    assert "No space left" in found.message
    assert found.hint
    assert found.__cause__ is disk


@pytest.mark.parametrize(
    "gone", [Py4JNetworkError("no answer"), Py4JError("calling"), ConnectionRefusedError(111)]
)
def test_error_of_py4j_after_end_of_jvm_says_that_jvm_has_ended(gone: Exception) -> None:
    error = typed(gone)
    assert isinstance(error, ExecutionError)
    assert "JVM has ended" in error.message
    assert error.__cause__ is gone


# ------------------------------------------------------------ hostile texts in records


def _evil() -> str:
    """Return a mark in its former format: a pickle that runs code when it is read."""
    pickled = base64.b64encode(pickle.dumps(Evil())).decode()
    return f"<<kstreams-error:{pickled}>>"


class Evil:
    """Runs code when it is unpickled."""

    def __reduce__(self) -> Any:
        return (_run, ())


RAN: list[int] = []


def _run() -> str:
    RAN.append(1)
    return "ran"


def _forged(secret: bytes = b"x") -> str:
    """Return a valid mark signed with a secret of another run."""
    text = str(ErrorChannel(secret).wrap(KStreamsError("all is well", hint="pay here")))
    return text[text.index("<<") :]


MARKS = {
    "pickle": _evil(),
    "forged": _forged(),
    "begun": "<<kstreams-error:AAAA",
    "ended": ":" + "0" * 64 + ">>",
    "many": "<<kstreams-error:" * 50_000,
}


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
@pytest.mark.parametrize("part", ["message", "hint", "node", "topic", "key", "kind", "traceback"])
def test_error_delimiters_in_a_quoted_message_neither_forge_nor_truncate_the_error(
    mark: str, part: str
) -> None:
    error: BaseException = ProcessingError("what", hint="do", where=WHERE)
    match part:
        case "message" | "hint":
            setattr(error, part, mark)
        case "kind":
            error = type(mark, (ValueError,), {})("what")
        case "traceback":
            error = ProcessingError("what", cause_traceback=mark)
        case _:
            error = ProcessingError("what").at(**{part: mark})
    RAN.clear()
    for quoted in (_text(error), mark + _text(error) + mark, _text(error) * 3):
        found = CHANNEL.find(RuntimeError(quoted))
        assert found is not None
        assert isinstance(found, ExecutionError)
        assert ("what" in found.message) == (part != "message")
        if part in ("node", "topic", "key"):
            assert getattr(found.where, part) == (mark if len(mark) <= 30_000 else ANY)
    assert CHANNEL.find(RuntimeError(mark)) is None
    assert not RAN


def test_error_marked_by_another_channel_is_ignored() -> None:
    text = _text(KStreamsError("other"), ErrorChannel())
    assert CHANNEL.find(RuntimeError(text)) is None
    assert CHANNEL.secret.hex() not in repr(CHANNEL)


def test_wrapped_error_leaves_out_error_marks_in_quoted_text() -> None:
    raised = str(CHANNEL.wrap(ValueError(_forged())))
    assert raised.count("<<kstreams-error:") == 2  # the error's own mark


def test_last_of_several_errors_in_text_is_found() -> None:
    text = _text(KStreamsError("first")) + _text(KStreamsError("last"))
    found = CHANNEL.find(RuntimeError(text))
    assert found is not None
    assert found.message == "last"


@pytest.mark.parametrize("kept", [2_000, 5_000, 50_000])
def test_truncated_text_contains_type_and_place_of_error(kept: int) -> None:
    error = SerializationError("what " * 5_000, where=Where(topic="t", offset=7))
    text = _text(error)
    assert len(text) > kept
    found = CHANNEL.find(RuntimeError(text[:kept]))
    assert type(found) is SerializationError
    assert (found.where.topic, found.where.offset) == ("t", 7)
    assert found.message.startswith("what what")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x" * 20_000_000),
        ValueError("\ud800" * 1_000_000),
        SerializationError("x" * 20_000_000, where=Where(key="y" * 20_000_000)),
        ProcessingError("\ud800", cause_traceback="\ud800\x1b" * 1_000_000),
    ],
    ids=["text", "surrogates", "typed", "traceback"],
)
def test_error_text_of_any_size_is_sent_truncated_and_encodable(error: Exception) -> None:
    raised = str(CHANNEL.wrap(error))
    assert len(raised.encode()) < 1_000_000
    found = _through_spark(error)
    assert found is not None
    assert isinstance(found, ExecutionError | SerializationError)
    assert len(str(found).encode()) < 100_000


@pytest.mark.parametrize(
    "key", ["\ud800", b"\xff<<kstreams-error:", 2.5, True, -5, None, "<<", "x" * 1_000]
)
def test_plain_key_of_worker_error_is_kept(key: object) -> None:
    found = _through_spark(KStreamsError("x", where=Where(key=key)))
    assert found is not None
    assert (type(found.where.key), found.where.key) == (type(key), key)


class Text(str):
    """A text subclass."""

    __slots__ = ()


class Silent:
    """An object whose `repr` fails."""

    def __repr__(self) -> str:
        raise SystemExit(3)

    __str__ = __repr__


ODD = {
    "silent": Silent(),
    "text": Text("x"),
    "large": 10**5_000,
    "dict": {1: 2},
    "list": [Silent()],
    "object": object(),
}


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_error_fields_without_a_json_type_become_text(value: Any) -> None:
    error = AppLockedError("x", owner=value).at(key=value, partition=value)
    found = _through_spark(error)
    assert isinstance(found, AppLockedError)
    assert found.where.key == repr_of(value)
    assert found.where.partition is None
    assert {type(part) for part in (*found.owner,)} <= {str}


class OwnError(SerializationError):
    """A user's error class with an additional field."""

    def __init__(self, code: int) -> None:
        super().__init__(f"code {code}", hint="call us", where=WHERE)
        self.code = code


def test_users_error_class_arrives_as_nearest_library_class_with_its_name() -> None:
    found = _through_spark(OwnError(7))
    assert type(found) is SerializationError
    assert (found.message, found.hint, found.where) == ("OwnError: code 7", "call us", WHERE)
    assert vars(found)["code"] == 7


class Bare(KStreamsError):
    """An error that does not call its base class."""

    def __init__(self) -> None:
        pass


class Mute(KStreamsError):
    """An error with an invalid place."""

    where: Any = 5

    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize("error", [Bare(), Mute("x"), SystemExit(3), KeyboardInterrupt()])
def test_any_exception_of_worker_arrives_typed(error: BaseException) -> None:
    found = _through_spark(error)
    assert type(found) is ExecutionError
    assert type(error).__name__ in found.message


@pytest.mark.parametrize(
    "change",
    [
        {"fields": {"at": "x"}},
        {"fields": {"__class__": "x"}},
        {"fields": {"x": {"a": 1}}},
        {"fields": [1]},
        {"message": 5},
        {"where": {"key": ["plain", {}]}},
        {"where": {"key": ["plain", None], "partition": "x"}},
        {"classes": "kstreams.errors:KStreamsError"},
    ],
    ids=str,
)
def test_marked_text_whose_fields_are_not_an_error_is_rejected(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"expected|field"):
        from_json({**to_json(KStreamsError("x"), 100), **change})


def test_only_classes_of_library_are_instantiated() -> None:
    data = to_json(KStreamsError("x"), 100)
    for name in ("builtins:SystemExit", f"{OwnError.__module__}:OwnError", "os:system"):
        assert type(from_json({**data, "classes": [name]})) is ExecutionError


def test_java_stack_trace_is_left_out_of_error_text() -> None:
    frames = "".join(f"\n\tat org.apache.Spark.run(Spark.scala:{n})" for n in range(1_000))
    found = typed(Py4JError(f"Job aborted: no space left{frames}\nDriver stacktrace:{frames}"))
    assert "Job aborted: no space left" in found.message
    assert "Spark.scala" not in found.message
