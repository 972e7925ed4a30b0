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
from kstreams_cli.formats import SERDES_HELP, RegistryOption, formats_of
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
            help="An Intake, or a function that returns one, importable from the current "
            "directory.",
            show_default=False,
        ),
    ],
    topic: Annotated[
        str, typer.Option(metavar="NAME", help="Where messages go.", show_default=False)
    ],
    key_serde: Annotated[str, typer.Option(metavar="SERDE", help=SERDES_HELP)] = "bytes",
    value_serde: Annotated[
        str, typer.Option(metavar="SERDE", help="What each message has to be, likewise.")
    ] = "bytes",
    registry: RegistryOption = None,
    complete: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Gives a Delivery its key, id or time, such as from fields of its value.",
            show_default=False,
        ),
    ] = None,
    on_error: Annotated[
        Refusal | None,
        typer.Option(
            help="What becomes of a message that is none of the topic's: stop, leave it out, or "
            "tell the sender.",
            show_default="reject where the sender learns of it, else fail",
        ),
    ] = None,
    dead_letters: Annotated[
        str | None,
        typer.Option(metavar="TOPIC", help="Or: set it aside there.", show_default=False),
    ] = None,
    remember: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Records of a partition whose ids are known again."),
    ] = 10_000,
    batch: Annotated[
        int, typer.Option(min=1, metavar="N", help="Messages that are written together at most.")
    ] = 500,
    give_up_after: Annotated[
        str,
        typer.Option(metavar="SPAN", help="How long source or topic may be without an answer."),
    ] = "5m",
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="SPAN", help="Stop after this time.", show_default="run until stopped"
        ),
    ] = None,
) -> None:
    """Write the messages of a webhook, a queue or an event stream to a topic, until Ctrl-C.

    A message is settled when it is in the topic. Ctrl-C and SIGTERM finish the current batch and
    return other messages; after a kill, the source delivers unsettled messages again, and their ids
    identify duplicates.

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
    """Logs the progress every few seconds, if there is new progress."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._at = time.monotonic()
        self._said = IntakeReport()

    def __call__(self, report: IntakeReport) -> None:
        now = time.monotonic()
        if now - self._at >= _LOG_SECONDS and report != self._said:
            self._at, self._said = now, report
            _LOG.info("intake %s: %s", self._name, report)
