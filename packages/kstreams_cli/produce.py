"""`kstreams topics produce`: append lines of text to a topic as records."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from kstreams.connection import Appended
from kstreams.emitter import Emitter
from kstreams.errors import ExecutionError, KStreamsError
from kstreams.record import Headers
from kstreams.topic import Topic
from kstreams_cli.consoles import counted, stderr
from kstreams_cli.formats import (
    KEY_SERDE_HELP,
    VALUE_SERDE_HELP,
    Format,
    RegistryOption,
    formats_of,
)
from kstreams_cli.moments import parse_moment
from kstreams_cli.pairs import pairs_of
from kstreams_cli.place import Place
from kstreams_cli.topics import TopicArgument, known_topic
from kstreams_cli.usage import WrongUsageError, for_option

__all__ = ("produce",)

_FIELD = "field"
_AHEAD = 10_000
_READING: dict[str, Any] = {"encoding": "utf-8", "errors": "surrogateescape", "newline": "\n"}


def produce(
    place: Place,
    name: TopicArgument,
    key_serde: Annotated[str, typer.Option(metavar="SERDE", help=KEY_SERDE_HELP)] = "text",
    value_serde: Annotated[str, typer.Option(metavar="SERDE", help=VALUE_SERDE_HELP)] = "text",
    registry: RegistryOption = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="File to read, instead of standard input.",
            show_default=False,
        ),
    ] = None,
    separator: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Separator between key and value. With an empty text, each line is a value "
            "without a key.",
        ),
    ] = "\\t",
    timestamp: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Event time of all records: ISO 8601, or @ and milliseconds since 1970. With "
            f"`{_FIELD}`, each line starts with its own time and the separator.",
            show_default="the current time",
        ),
    ] = None,
    tombstone: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Write null for values that are this text.",
            show_default=False,
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Header of all records. Can be repeated.",
            show_default=False,
        ),
    ] = None,
) -> None:
    r"""Write lines of text to a topic, one record per line: key, tab, value.

    Use it to write test data, or to load a file into a topic. A line without a separator is a value
    without a key. Values with several fields are typed as JSON. Each record goes to the partition
    of its key, as with a sink of a topology. The command fails at the first line that the serde
    rejects; earlier lines are in the topic.

    Example:
        printf 'ann\t3\nbob\t5\n' | kstreams topics produce orders --value-serde int64
        kstreams topics produce lines --from book.txt --separator ''
        kstreams topics produce clicks --timestamp field < clicks.tsv
        kstreams topics produce orders --value-serde shop.serdes:ORDERS --from orders.jsonl
    """
    reader = _Reader(
        *formats_of(name, key_serde, value_serde, registry),
        separator.encode("latin-1", "backslashreplace").decode("unicode_escape"),
        tombstone,
        *_times(timestamp, separator),
    )
    headers = tuple((k, v.encode()) for k, v in pairs_of(header or (), "--header").items())
    admin = place.connection.admin()
    try:
        known_topic(admin, name, place)
    finally:
        admin.close()
    with _opened(source) as lines:
        total = _append(place, name, lines, reader, headers)
    stderr().print(f"Appended {counted(total, 'record')} to [bold]{name}[/].")


@dataclass(frozen=True)
class _Reader:
    """Parses the key, value and timestamp of a line."""

    key: Format
    value: Format
    separator: str
    tombstone: str | None
    timestamp: int | None
    has_field: bool

    def read(self, line: str) -> tuple[object, object, int | None]:
        timestamp = self.timestamp
        if self.has_field:
            field, found, line = line.partition(self.separator)
            if not found:
                raise ValueError(f"no separator {self.separator!r} after the timestamp")
            timestamp = int(field) if field.isdigit() else parse_moment(field)
        key, found, value = line.partition(self.separator) if self.separator else ("", "", line)
        if not found:
            value = line
        return (
            self.key.parse(key) if found else None,
            None if value == self.tombstone else self.value.parse(value),
            timestamp,
        )


def _times(text: str | None, separator: str) -> tuple[int | None, bool]:
    """Parse the option `--timestamp`.

    Returns:
        The timestamp of all records, None for the current time; and whether each line begins with
        its own timestamp.
    """
    if text is None or text == _FIELD:
        if text == _FIELD and not separator:
            raise WrongUsageError('"field" needs a --separator that is not empty', "--timestamp")
        return None, text == _FIELD
    with for_option("--timestamp"):
        return parse_moment(text), False


@contextmanager
def _opened(source: Path | None) -> Iterator[TextIO]:
    if source is None:
        if sys.stdin.isatty():
            stderr().print("[dim]Type one record per line. Press Ctrl-D to finish.[/]")
        lines = TextIOWrapper(sys.stdin.buffer, **_READING)
        yield lines
        lines.detach()  # the standard input stays open
        return
    try:
        file = source.open(**_READING)
    except OSError as exc:
        raise WrongUsageError(f"cannot read {source}: {exc.strerror}", "--from") from exc
    with file:
        yield file


def _append(place: Place, name: str, lines: TextIO, reader: _Reader, headers: Headers) -> int:
    """Append all lines to a topic as they arrive; return the number of lines.

    If many writes are pending, the oldest is awaited before the next line is read.
    """
    topic: Topic[Any, Any] = Topic(
        name, reader.key.serde, reader.value.serde, nulls="pass", null_keys="pass"
    )
    waiting: deque[Future[Appended]] = deque()
    number = 0
    with Emitter(topic, place.connection) as emitter:
        for number, line in enumerate(lines, start=1):
            text = line.rstrip("\n")
            with _at_line(number):
                key, value, timestamp = reader.read(text)
                waiting.append(emitter.emit(key, value, timestamp=timestamp, headers=headers))
            while waiting and (waiting[0].done() or len(waiting) > _AHEAD):
                waiting.popleft().result()
        emitter.flush()
        for future in waiting:
            future.result()
    return number


@contextmanager
def _at_line(number: int) -> Iterator[None]:
    try:
        yield
    except KStreamsError as exc:
        exc.args = (f"line {number}: {exc.args[0]}",)
        exc.message = f"line {number}: {exc.message}"
        raise
    except (ValueError, WrongUsageError) as exc:
        raise ExecutionError(
            f"line {number}: {exc}",
            hint="the lines before this line are in the topic: correct the line, and run the "
            "command again from this line on.",
        ) from exc
