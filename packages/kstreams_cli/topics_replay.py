"""`kstreams topics replay`: write dead letters back to their topics."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.markup import escape

from kstreams_cli.consoles import counted, new_table, stderr, stdout
from kstreams_cli.counts import JsonOption
from kstreams_cli.pairs import pairs_of
from kstreams_cli.place import Place
from kstreams_cli.usage import WrongUsageError
from kstreams_dead_letters.replaying import Choice, replay_letters

__all__ = ("replay",)

_KNOWN = ("class", "message", "node", "topic", "partition", "offset", "file", "record", "commit")


def replay(
    place: Place,
    name: Annotated[
        str, typer.Argument(metavar="DLQ", help="Dead-letter topic.", show_default=False)
    ],
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=TEXT",
            help="Replay only dead letters whose header kstreams-error-NAME matches TEXT, in which "
            "* and ? are wildcards. Can be repeated; a dead letter must match all patterns.",
            show_default=False,
        ),
    ] = None,
    max_attempts: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Skip records that have already been replayed N times."
        ),
    ] = 3,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the dead letters without replaying them.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Replay dead letters to the topics and partitions of their records.

    Use it after the cause of the failures is fixed: a record that fails again becomes a dead letter
    again. A replayed record has the original key, value, time and headers, and the header
    kstreams-replay with the number of replays. The dead letters remain in their topic.

    Each dead letter is replayed at most once, also after a crash: its offset is stored together
    with the record. On Kafka, one transaction writes both; consumers need
    isolation.level=read_committed, and the cluster stores the offsets in the group
    kstreams-redelivery/DLQ, for a week by default (offsets.retention.minutes). Embedded topics
    store the offsets next to the data of the topic. Dead letters that arrive during the command are
    left for its next run. Dead letters of repartition edges and files have no topic, and are
    skipped.

    Example:
        kstreams topics replay orders-dead --dry-run
        kstreams topics replay orders-dead --where class=DeserializationError
        kstreams topics replay orders-dead --where node=count --where 'message=*timeout*'
    """
    wanted = pairs_of(where or (), "--where")
    for each in wanted:
        if each not in _KNOWN:
            raise WrongUsageError(
                f"{each!r} is not a field of dead letters; expected one of {', '.join(_KNOWN)}",
                "--where",
            )
    found = replay_letters(place.connection, name, Choice(wanted, max_attempts), dry_run=dry_run)
    if as_json:
        print(json.dumps({"topic": name, "dry_run": dry_run, **found.to_json()}))
        return
    if found.sent:
        table = new_table("class", "topic", "records", numbers=("records",))
        for (kind, topic), count in sorted(found.sent.items()):
            table.add_row(escape(kind), f"[cyan]{escape(topic)}[/]", f"{count:,}")
        stdout().print(table)
    for reason, count in sorted(found.left.items()):
        stderr().print(f"[dim]{counted(count, 'record')} skipped: {escape(reason)}[/]")
    total = counted(sum(found.sent.values()), "record")
    if dry_run:
        stderr().print(f"{total} would be replayed.")
    else:
        stderr().print(f"[green]✓[/] {total} replayed.")
