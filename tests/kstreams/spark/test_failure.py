"""Errors come out of a worker as they were, through text that Spark makes of them."""

from __future__ import annotations

import threading

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

import kstreams.errors as errors
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
from kstreams.spark.failure import as_failure, find_failure, typed

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


def _through_spark(error: Exception) -> KStreamsError | None:
    text = "\n\tat ".join(["Job aborted due to stage failure", str(as_failure(error)), "java.lang"])
    return find_failure(RuntimeError(text))


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_class_survives(kind: type[KStreamsError]) -> None:
    error = kind("what", hint="do").at(**{name: getattr(WHERE, name) for name in WHERE.__dict__})
    if isinstance(error, TopologyError):
        error.problems = ("one", "two")
    if isinstance(error, AppLockedError):
        error.owner = "me"
    found = _through_spark(error)
    assert type(found) is kind
    assert found.__dict__ == error.__dict__
    assert str(found) == str(error)


def test_what_user_code_raised_is_shown_as_the_cause() -> None:
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


def test_a_key_that_does_not_pickle_travels_as_text() -> None:
    lock = threading.Lock()
    found = _through_spark(StateCorruptError("x", where=Where(key=lock)))
    assert found is not None
    assert found.where.key == repr(lock)


def test_fields_that_do_not_pickle_leave_the_text() -> None:
    class Odd(KStreamsError):
        """An error of a user's serde."""

    found = _through_spark(Odd("odd", hint="mend it", where=WHERE))
    assert type(found) is ExecutionError
    assert "odd" in found.message
    assert "mend it" in found.message
    assert found.where == WHERE


def test_a_class_that_the_driver_lacks_leaves_the_text() -> None:
    assert find_failure(RuntimeError("<<kstreams-error:AAAA>>")) is None
    assert find_failure(RuntimeError("no mark")) is None


def test_an_apps_error_is_always_typed() -> None:
    own = SerializationError("x")
    assert typed(own) is own
    assert typed(RuntimeError(str(as_failure(own)))).message == "x"
    disk = OSError(28, "No space left on device")
    found = typed(disk)
    assert type(found) is ExecutionError
    assert "No space left" in found.message
    assert found.hint
    assert found.__cause__ is disk


@pytest.mark.parametrize(
    "gone", [Py4JNetworkError("no answer"), Py4JError("calling"), ConnectionRefusedError(111)]
)
def test_the_end_of_the_jvm_is_named(gone: Exception) -> None:
    error = typed(gone)
    assert isinstance(error, ExecutionError)
    assert "JVM has ended" in error.message
    assert error.__cause__ is gone
