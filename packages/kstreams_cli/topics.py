"""`kstreams topics create`, `list`, `describe` and `delete`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Annotated

import typer

from kstreams.connection import TopicAdmin
from kstreams.errors import TopicExistsError, UnknownTopicError
from kstreams.partitioner import MAX_PARTITIONS
from kstreams_cli.consoles import counted, new_table, stderr, stdout
from kstreams_cli.pairs import pairs_of
from kstreams_cli.place import Place

__all__ = (
    "FormatOption",
    "OutputFormat",
    "TopicArgument",
    "create",
    "delete",
    "describe_topic",
    "known_topic",
    "list_topics",
)


class OutputFormat(str, Enum):
    """The output format of a result."""

    TEXT = "text"
    JSON = "json"


TopicArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="Topic name.", show_default=False)
]
FormatOption = Annotated[
    OutputFormat, typer.Option("--format", help="Output format: text, or json for programs.")
]


def create(
    place: Place,
    name: TopicArgument,
    partitions: Annotated[
        int,
        typer.Option(
            "--partitions",
            "-p",
            min=1,
            max=MAX_PARTITIONS,
            help="Number of partitions, which is the maximum number of parallel tasks. It cannot "
            "be changed later.",
            show_default=False,
        ),
    ],
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config",
            metavar="NAME=VALUE",
            help="Topic setting by its Kafka name, such as retention.ms=-1. Can be repeated.",
            show_default=False,
        ),
    ] = None,
    if_missing: Annotated[
        bool, typer.Option("--if-missing", help="Do not fail if the topic already exists.")
    ] = False,
) -> None:
    """Create a topic.

    Create the topics of an app before its first run. On Kafka, set retention.ms=-1 to keep records
    with old event times, which the broker deletes otherwise.

    Example:
        kstreams topics create lines --partitions 4
        kstreams topics create totals -p 4 --config retention.ms=-1 --bootstrap localhost:9092
        kstreams topics create counts-log -p 4 --config cleanup.policy=compact
    """
    admin = place.connection.admin()
    try:
        admin.create(name, partitions, config=pairs_of(config or (), "--config"))
    except TopicExistsError:
        if not if_missing:
            raise
        stdout().print(f"Topic [bold]{name}[/] already exists.")
        return
    finally:
        admin.close()
    stdout().print(f"Created topic [bold]{name}[/] with {counted(partitions, 'partition')}.")


def list_topics(
    place: Place,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only the names, one per line.")
    ] = False,
    output: FormatOption = OutputFormat.TEXT,
) -> None:
    """List all topics with their numbers of partitions and records.

    With --quiet, the command prints only names, for scripts, and does not read offsets.

    Example:
        kstreams topics list
        kstreams topics list --quiet --bootstrap localhost:9092
    """
    admin = place.connection.admin()
    try:
        names = admin.topics()
        if quiet:
            for name in names:
                print(name)
            return
        rows = [(name, _records(admin, name)) for name in names]
    finally:
        admin.close()
    if output is OutputFormat.JSON:
        found = [
            {"name": name, "partitions": len(counts), "records": sum(counts.values())}
            for name, counts in rows
        ]
        print(json.dumps(found))
        return
    if not rows:
        stderr().print(f"There are no topics in {place.label}.")
        return
    table = new_table(
        "topic", "partitions", _at_most(place), numbers=("partitions", _at_most(place))
    )
    for name, counts in rows:
        table.add_row(f"[cyan]{name}[/]", str(len(counts)), f"{sum(counts.values()):,}")
    stdout().print(table)


def describe_topic(
    place: Place, name: TopicArgument, output: FormatOption = OutputFormat.TEXT
) -> None:
    """Show the partitions of a topic, their offsets and record counts, and the topic's settings.

    On Kafka, record counts are upper bounds, because some offsets have no record.

    Example:
        kstreams topics describe lines
        kstreams topics describe lines --format json
    """
    admin = place.connection.admin()
    try:
        known_topic(admin, name, place)
        begin, end = admin.beginning_offsets(name), admin.end_offsets(name)
    finally:
        admin.close()
    config = dict(place.config(name))
    if output is OutputFormat.JSON:
        partitions = [{"partition": p, "begin": begin[p], "end": end[p]} for p in sorted(end)]
        print(json.dumps({"name": name, "partitions": partitions, "config": config}))
        return
    console = stdout()
    total = sum(end[p] - begin[p] for p in end)
    console.print(
        f"[bold cyan]{name}[/]  {counted(len(end), 'partition')}, "
        f"{'at most ' if place.is_kafka else ''}{counted(total, 'record')}\n"
    )
    table = new_table(*(columns := ("partition", "begin", "end", _at_most(place))), numbers=columns)
    for p in sorted(end):
        table.add_row(str(p), f"{begin[p]:,}", f"{end[p]:,}", f"{end[p] - begin[p]:,}")
    console.print(table)
    if config:
        console.print()
        console.print(_settings(config))


def delete(
    place: Place,
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Topics to delete.", show_default=False)
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete topics and all their records.

    The command asks for confirmation for each topic. Deleted records cannot be restored.

    Example:
        kstreams topics delete lines
        kstreams topics delete lines totals --yes
    """
    admin = place.connection.admin()
    console = stderr()
    try:
        for name in names:
            known_topic(admin, name, place)
        for name in names:
            records = sum(_records(admin, name).values())
            if not yes:
                console.print(
                    f"Topic [bold]{name}[/] in {place.label} has {counted(records, 'record')}."
                )
                typer.confirm(f"Delete topic {name} permanently?", abort=True, err=True)
            admin.delete(name)
            stdout().print(f"Deleted topic [bold]{name}[/].")
    finally:
        admin.close()


def known_topic(admin: TopicAdmin, name: str, place: Place) -> int:
    """Return a topic's partition count.

    Raises:
        UnknownTopicError: The topic does not exist; the hint has the command that creates it.
    """
    try:
        return admin.partition_count(name)
    except UnknownTopicError as exc:
        raise UnknownTopicError(
            f"there is no topic {name!r} in {place.label}", hint=place.missing_topic_hint(name)
        ) from exc


def _records(admin: TopicAdmin, name: str) -> dict[int, int]:
    begin, end = admin.beginning_offsets(name), admin.end_offsets(name)
    return {p: end[p] - begin[p] for p in end}


def _at_most(place: Place) -> str:
    """Return the title of the table column with record counts.

    On Kafka the counts are upper bounds: some offsets have no record, such as transaction markers.
    """
    return "records (at most)" if place.is_kafka else "records"


def _settings(config: Mapping[str, str]) -> object:
    table = new_table("setting", "value")
    for key, value in sorted(config.items()):
        table.add_row(key, value or '""')
    return table
