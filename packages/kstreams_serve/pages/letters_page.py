"""The page of dead letters: their sources, their reasons, and the command to replay them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from kstreams.connection import Connection
from kstreams.errors import UnknownTopicError
from kstreams.ids import TopicPartition
from kstreams.quoting import repr_of
from kstreams_dead_letters.letter import Letter
from kstreams_dead_letters.listing import LetterPage, letters_before
from kstreams_dead_letters.replaying import ReplayReport, replay_letters
from kstreams_serve.context import Context
from kstreams_serve.pages.app_facts import AppFacts
from kstreams_serve.pages.cells import Cell, bytes_cell
from kstreams_serve.pages.visits import Page, Visit
from kstreams_serve.problems import Problem
from kstreams_serve.served_app import ServedApp

__all__ = ("LettersPage",)

_ROWS = 30
_MOST_COUNTED = 20_000
"""The maximum number of dead letters read to count the records of a replay."""


@dataclass(frozen=True)
class _LetterLine:
    place: str
    source: str
    record: Mapping[str, str | int] | None
    timestamp_ms: int
    node: str
    kind: str
    message: str
    key: Cell
    value: Cell
    attempts: int
    left_out: str
    is_done: bool


class LettersPage:
    """Creates the page of dead letters.

    Args:
        context: The shared context of routes.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    async def page(self, visit: Visit, app: ServedApp, facts: AppFacts) -> Page:
        """Return the page of a dead-letter topic, newest letters first.

        It reads only dead-letter topics that the app itself writes to.
        """
        given = visit.given(("topic", "cursor", "count"))
        topics = facts.recording.dead_letter_nodes
        topic = given.get("topic") or next(iter(topics), None)
        if topic is not None and topic not in topics:
            raise Problem(404, f"the app has no dead-letter topic {repr_of(topic, 80)}")
        content: dict[str, object] = {
            "topics": topics,
            "topic": topic,
            "is_recorded": facts.recording.outline is not None,
            "is_asked": self._context.topics is not None,
            "first": "cursor" not in given,
            "found": None,
            "next": None,
            "counted": None,
            "most_counted": _MOST_COUNTED,
            "commands": _commands(topic or "TOPIC"),
        }
        if topic is not None and self._context.topics is not None:
            before = self._before(app.name, topic, given.get("cursor"))
            content |= await self._letters(app.name, topic, before, count=given.flag("count"))
        return Page("letters.html", "Dead letters", content, tab="Dropped", is_live=False)

    def _before(self, app: str, topic: str, cursor: str | None) -> dict[int, int] | None:
        if cursor is None:
            return None
        found = self._context.cursors.read(cursor)
        if [app, topic] != found.anything("letters"):
            raise Problem(
                400,
                "cursor belongs to another app or dead-letter topic",
                hint="start with the first page again.",
            )
        return {int(place): offset for place, offset in found.integers("before").items()}

    async def _letters(
        self, app: str, topic: str, before: dict[int, int] | None, *, count: bool
    ) -> dict[str, object]:
        topics = self._context.topics
        assert topics is not None  # noqa: S101  # asked before

        def read(connection: Connection) -> LetterPage[_LetterLine] | None:
            with suppress(UnknownTopicError):  # nothing was set aside yet
                return letters_before(connection, topic, _ROWS, _line, before=before)
            return None

        place = "" if before is None else str(sorted(before.items()))
        found = await topics.result(("letters", topic, place), read)
        if found is None:
            return {}
        counted: ReplayReport | None = None
        if count and found.total <= _MOST_COUNTED:
            counted = await topics.result(
                ("dry run", topic),
                lambda connection: replay_letters(connection, topic, dry_run=True),
            )
        cursor: dict[str, object] = {
            "letters": [app, topic],
            "before": {str(place): offset for place, offset in found.before.items()},
        }
        return {
            "found": found,
            "next": self._context.cursors.make(cursor) if found.before else None,
            "counted": counted,
        }


def _commands(topic: str) -> Sequence[str]:
    replay = f"kstreams topics replay {shlex.quote(topic)}"
    return (
        f"{replay} --dry-run",
        f"{replay} --where class=DeserializationError",
        replay,
    )


def _line(letter: Letter, is_done: bool) -> _LetterLine:
    failure, row = letter.failure, letter.row
    record: dict[str, str | int] | None = None
    source = letter.topic
    if letter.topic and letter.partition is not None:
        source = str(TopicPartition(letter.topic, letter.partition))
        if letter.offset is not None:
            source = f"{source}@{letter.offset}"
            record = {
                "topic": letter.topic, "partition": letter.partition, "offset": letter.offset,
            }  # fmt: skip
    elif not letter.topic:
        source = " ".join(failure[name] for name in ("file", "record") if name in failure)
    return _LetterLine(
        f"{row.partition}@{row.offset}",
        source,
        record,
        letter.timestamp,
        failure.get("node", ""),
        failure.get("class", ""),
        failure.get("message", ""),
        bytes_cell(row.key),
        bytes_cell(row.value),
        letter.attempts,
        failure.get("left-out", ""),
        is_done,
    )
