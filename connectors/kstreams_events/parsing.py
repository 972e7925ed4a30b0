"""Parsing of server-sent events, with size limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kstreams.errors import IntakeError
from kstreams_events.line import Message

__all__ = ("events_of", "lines_of")

_BOM = b"\xef\xbb\xbf"


def lines_of(chunks: Iterable[bytes], most_bytes: int) -> Iterator[bytes]:
    """Yield lines without their line ends, which are LF, CR or both.

    Args:
        chunks: The text, split anywhere.
        most_bytes: The maximum size of a line.

    Raises:
        IntakeError: A line is longer than `most_bytes`.
    """
    line = bytearray()
    after_cr = False
    for chunk in chunks:
        text = chunk[1:] if after_cr and chunk[:1] == b"\n" else chunk
        after_cr = chunk[-1:] == b"\r" or (after_cr and not chunk)
        parts = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for part in parts[:-1]:
            yield bytes(line + part)
            line.clear()
        line += parts[-1]
        if len(line) > most_bytes:
            raise IntakeError(
                f"the server sent a line of more than {most_bytes:,} bytes",
                hint="increase max_bytes= if events may be this large.",
            )


def events_of(chunks: Iterable[bytes], most_bytes: int) -> Iterator[Message]:
    """Yield the events of a stream; an event that does not end with an empty line is ignored.

    Args:
        chunks: The text, split anywhere.
        most_bytes: The maximum size of an event's data.

    Raises:
        IntakeError: An event is larger than `most_bytes`.

    Source: the HTML standard, 9.2.6. Each event has the id of its own `id` field only; a
    reconnection uses the last id.
    """
    data: list[bytes] = []
    size = 0
    identity: str | None = None
    kind = b""
    first = True
    for line in lines_of(chunks, most_bytes):
        text = line.removeprefix(_BOM) if first else line
        first = False
        if not text:
            if data:
                headers = (("sse-event", kind),) if kind else ()
                yield Message(b"\n".join(data), identity, headers)
            data, size, identity, kind = [], 0, None, b""
            continue
        name, _, value = text.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            size += len(value) + 1
            if size > most_bytes:
                raise IntakeError(
                    f"the server sent an event of more than {most_bytes:,} bytes",
                    hint="increase max_bytes= if events may be this large.",
                )
            data.append(value)
        elif name == b"event":
            kind = value
        elif name == b"id" and b"\0" not in value:
            identity = value.decode("utf-8", "replace") or None
