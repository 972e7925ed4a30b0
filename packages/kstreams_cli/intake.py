"""`kstreams intake`: write the messages of a webhook, queue or event stream to a topic."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import Annotated, Any, cast

import typer
from rich.markup import escape

from kstreams.processors.on_error import DeadLetter
from kstreams.topic import Topic
from kstreams_cli.consoles import stderr
from kstreams_cli.formats import KEY_SERDE_HELP, RegistryOption, formats_of
from kstreams_cli.loading import load_object
from kstreams_cli.moments import parse_span
from kstreams_cli.place import Place
from kstreams_cli.progress import logging_to
from kstreams_cli.usage import WrongUsageError, for_option
from kstreams_intake.contract import Delivery, Intake
from kstreams_intake.report import IntakeReport
from kstreams_intake.runner import IntakeRunner
from kstreams_intake.taking import OnRefusal

__all__ = ("Refusal", "intake")

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_LOG_SECONDS = 5.0


class Refusal(str, Enum):
    """The policy for a message that the topic rejects."""

    FAIL = "fail"
    SKIP = "skip"
    REJECT = "reject"


def intake(
    place: Place,
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:INTAKE",
            help="An Intake, or a function that returns an Intake, in a module that can be "
            "imported from the current directory.",
            show_default=False,
        ),
    ],
    topic: Annotated[str, typer.Option(metavar="NAME", help="Target topic.", show_default=False)],
    key_serde: Annotated[str, typer.Option(metavar="SERDE", help=KEY_SERDE_HELP)] = "bytes",
    value_serde: Annotated[
        str,
        typer.Option(
            metavar="SERDE",
            help="Serde of the values, in the same form as --key-serde. Messages that it cannot "
            "read are rejected.",
        ),
    ] = "bytes",
    registry: RegistryOption = None,
    complete: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Function that adds a key, an id or a time to a Delivery, for example from fields "
            "of its value.",
            show_default=False,
        ),
    ] = None,
    on_error: Annotated[
        Refusal | None,
        typer.Option(
            help="Action for a message that the topic rejects: fail stops the command, skip drops "
            "the message, reject reports the error to the sender.",
            show_default="reject if the sender receives a response, otherwise fail",
        ),
    ] = None,
    dead_letters: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC",
            help="Write messages that the topic rejects to this dead-letter topic, instead of "
            "--on-error.",
            show_default=False,
        ),
    ] = None,
    remember: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Number of latest records per partition whose ids are compared with new messages, "
            "to find duplicates.",
        ),
    ] = 10_000,
    batch: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum number of messages per write.")
    ] = 500,
    give_up_after: Annotated[
        str,
        typer.Option(
            metavar="SPAN",
            help="Maximum time without a response of the source or of the topic, such as 30s or "
            "5m. After this time the command fails.",
        ),
    ] = "5m",
    timeout: Annotated[
        str | None,
        typer.Option(metavar="SPAN", help="Stop after this time.", show_default="run until Ctrl-C"),
    ] = None,
) -> None:
    """Write the messages of a webhook, a queue or an event stream to a topic.

    Use it for sources that deliver each message once and cannot be read again. The command runs
    until Ctrl-C. It acknowledges a message after the topic contains it. Ctrl-C and SIGTERM finish
    the current batch and return other messages to the source. After a crash, the source delivers
    unacknowledged messages again, and their ids identify duplicates.

    Example:
        kstreams intake shop.hooks:ORDERS --topic orders --value-serde json
        kstreams intake shop.queues:ORDERS --topic orders --bootstrap localhost:9092
    """
    found = _intake(target)
    keys, values = formats_of(topic, key_serde, value_serde, registry)
    into: Topic[Any, Any] = Topic(topic, keys.serde, values.serde, nulls="pass", null_keys="pass")
    runner = IntakeRunner(
        found,
        into,
        place.connection,
        on_error=_policy(on_error, dead_letters),
        complete=_completing(complete),
        remember=remember,
        batch=batch,
        give_up_after=_span(give_up_after, "--give-up-after"),
        on_report=_Logged(found.name),
    )
    console = stderr()
    with logging_to(console):
        try:
            runner.run(timeout=None if timeout is None else _span(timeout, "--timeout"))
        finally:
            console.print(f"[bold]{escape(found.name)}[/]: {runner.report}", soft_wrap=True)


def _intake(target: str) -> Intake:
    with for_option("MODULE:INTAKE"):
        found = load_object(target)
        if callable(found) and not isinstance(found, Intake):
            found = found()
        if not isinstance(found, Intake):
            raise WrongUsageError(
                f"{target} is {type(found).__name__}, expected an Intake or a function that "
                "returns one"
            )
    return found


def _completing(target: str | None) -> Callable[[Delivery], Delivery] | None:
    if target is None:
        return None
    with for_option("--complete"):
        found = load_object(target)
        if not callable(found):
            raise WrongUsageError(f"{target} is {type(found).__name__}, expected a function")
    return cast("Callable[[Delivery], Delivery]", found)  # the return value is checked


def _policy(on_error: Refusal | None, dead_letters: str | None) -> OnRefusal | None:
    if dead_letters is None:
        return None if on_error is None else on_error.value
    if on_error is not None:
        raise WrongUsageError(
            "give --on-error or --dead-letters, not both", "--on-error / --dead-letters"
        )
    return DeadLetter(dead_letters)


def _span(text: str, option: str) -> timedelta:
    with for_option(option):
        return parse_span(text)


class _Logged:
    """Logs the `IntakeReport` of a running intake every few seconds, if its counts have changed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._at = time.monotonic()
        self._last_report = IntakeReport()

    def __call__(self, report: IntakeReport) -> None:
        now = time.monotonic()
        if now - self._at >= _LOG_SECONDS and report != self._last_report:
            self._at, self._last_report = now, report
            _LOG.info("intake %s: %s", self._name, report)
