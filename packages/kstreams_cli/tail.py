"""`kstreams topics tail`: the current and the new records of a topic."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Annotated

import typer
from rich.markup import escape
from rich.text import Text

from kstreams.connection import RawRecord, TopicAdmin, TopicReader
from kstreams_admin.moments import iso
from kstreams_admin.values import json_line, printable
from kstreams_cli.consoles import counted, stderr, stdout
from kstreams_cli.formats import (
    KEY_SERDE_HELP,
    VALUE_SERDE_HELP,
    Format,
    RegistryOption,
    formats_of,
)
from kstreams_cli.moments import parse_start
from kstreams_cli.place import Place
from kstreams_cli.topics import FormatOption, OutputFormat, TopicArgument, known_topic
from kstreams_cli.usage import for_option

__all__ = ("tail",)

_POLL_SECONDS = 0.2
_UNREADABLE = "(headers that are not UTF-8)"


def tail(
    place: Place,
    name: TopicArgument,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="POINT",
            help="Start position: beginning, end, an offset, -N for N records before the end of "
            "each partition, or a time such as 2024-05-01T12:00Z.",
            show_default="beginning; with --follow, end",
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait for new records, until Ctrl-C.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", min=1, help="Maximum number of records.", show_default="no limit"
        ),
    ] = None,
    output: FormatOption = OutputFormat.TEXT,
    key_serde: Annotated[str, typer.Option(metavar="SERDE", help=KEY_SERDE_HELP)] = "text",
    value_serde: Annotated[str, typer.Option(metavar="SERDE", help=VALUE_SERDE_HELP)] = "text",
    registry: RegistryOption = None,
) -> None:
    r"""Print the records of a topic: partition, offset, time in UTC, key, value, headers.

    Use it to look at the input or the output of an app. The records of a partition are in the order
    of their offsets; partitions are merged by time. Bytes that the serde cannot read are printed as
    Python literals, such as b'\xff', and a note at the end counts them. Headers with a name that is
    not UTF-8 are replaced by a note.

    Example:
        kstreams topics tail totals --value-serde int64 --from -10
        kstreams topics tail lines --follow
        kstreams topics tail orders --from 2024-05-01T12:00:00Z --format json
        kstreams topics tail orders --value-serde protobuf:orders.binpb#shop.Order
    """
    key, value = formats_of(name, key_serde, value_serde, registry)
    with for_option("--from"):
        point = parse_start(start or ("end" if follow else "beginning"))
    show = _as_json if output is OutputFormat.JSON else _TextWriter(flush=follow)
    admin, reader = place.connection.admin(), place.connection.reader()
    try:
        known_topic(admin, name, place)
        records = _records(admin, reader, name, point.offsets(admin, name), follow=follow)
        with suppress(KeyboardInterrupt):
            for record in islice(records, limit):
                show(record, key, value)
        _note_undecoded("key", key)
        _note_undecoded("value", value)
    finally:
        reader.close()
        admin.close()


def _note_undecoded(part: str, form: Format) -> None:
    """Print a note if the serde could not read some keys or values, which are shown as bytes."""
    if form.unread:
        stderr().print(
            f"[yellow]Note:[/] {counted(form.unread, part)} shown as bytes: not readable with the "
            f"serde {escape(form.serde.name)}. Choose another serde with "
            f"--{part}-serde; `kstreams serdes` lists all serdes."
        )


def _records(
    admin: TopicAdmin, reader: TopicReader, topic: str, start: Mapping[int, int], *, follow: bool
) -> Iterator[RawRecord]:
    """Yield the current records, and with `follow` new records until interrupted."""
    positions = dict(start)
    while True:
        ends = admin.end_offsets(topic)
        parts = [
            reader.read(topic, partition, positions.get(partition, 0), end)
            for partition, end in ends.items()
            if positions.get(partition, 0) < end
        ]
        yield from heapq.merge(*parts, key=lambda r: (r.timestamp, r.partition, r.offset))
        positions.update(ends)
        if not follow:
            return
        if not parts:
            time.sleep(_POLL_SECONDS)


def _as_json(record: RawRecord, key: Format, value: Format) -> None:
    shown_key, key_reads = key.read(record.key)
    shown_value, value_reads = value.read(record.value)
    fields: dict[str, object] = {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": iso(record.timestamp),
        "key": key.plain(shown_key) if key_reads else shown_key,
        "value": value.plain(shown_value) if value_reads else shown_value,
        "headers": [[name, _header(data)] for name, data in record.headers],
    }
    reads = {"key": key_reads, "value": value_reads, "headers": record.headers_readable}
    failed = [name for name, good in reads.items() if not good]
    if failed:
        fields["undecodable"] = failed
    print(json_line(fields), flush=True)


class _TextWriter:
    """Writes records as lines: in colored columns on a terminal, else separated by tabs."""

    def __init__(self, *, flush: bool) -> None:
        self._console = stdout()
        self._flush = flush
        self._width = 1

    def __call__(self, record: RawRecord, key: Format, value: Format) -> None:
        place = f"{record.partition}:{record.offset}"
        when = iso(record.timestamp)
        shown = [_shown(key, record.key), _shown(value, record.value)]
        headers = [f"{name}={_header(data)}" for name, data in record.headers]
        headers += [] if record.headers_readable else [_UNREADABLE]
        if not self._console.is_terminal:
            parts = [str(record.partition), str(record.offset), when, shown[0][0], shown[1][0]]
            print("\t".join([*parts, *map(printable, headers)]), flush=self._flush)
            return
        self._width = max(self._width, len(place))
        line = Text().append(place.rjust(self._width), style="dim")
        line.append(f"  {when}  ", style="green")
        line.append(*shown[0]).append("  ").append(*shown[1])
        if headers:
            line.append(f"  {printable(' '.join(headers))}", style="magenta")
        self._console.print(line, soft_wrap=True)


def _shown(form: Format, data: bytes | None) -> tuple[str, str]:
    """Return the text and the style of a key or value."""
    value, reads = form.read(data)
    if not reads:
        return printable(repr(value)), "red"
    return form.show(value), "dim italic" if value is None else ""


def _header(data: bytes | None) -> str | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return repr(data)
