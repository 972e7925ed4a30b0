"""Shared options of commands that replay committed batches: the app's code and topics."""

from __future__ import annotations

from typing import Annotated

import typer

from kstreams_cli.loading import load_connection, load_topology
from kstreams_cli.place import Place
from kstreams_cli.stores import AppState
from kstreams_cli.usage import for_option
from kstreams_explain.memory_limit import limit_memory
from kstreams_explain.replayed_app import ReplayedApp

__all__ = (
    "ConnectionOption",
    "MostBytesOption",
    "RepeatCallsOption",
    "RunTopologyOption",
    "replayed_app",
)

RunTopologyOption = Annotated[
    str | None,
    typer.Option(
        "--topology",
        metavar="MODULE:NAME",
        help="Topology of the app. The command replays batches with its code, in this process.",
        show_default=False,
    ),
]
ConnectionOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODULE:NAME",
        help="Connection to the topics, a Kafka(...) or Embedded(...) object, instead of --data or "
        "--bootstrap.",
        show_default=False,
    ),
]
RepeatCallsOption = Annotated[
    bool,
    typer.Option(
        "--repeat-calls",
        help="Allow the replay to repeat calls: requests of processors to external systems, and "
        "functions of sinks.",
    ),
]
MostBytesOption = Annotated[int | None, typer.Option("--most-bytes", hidden=True)]
"""The memory limit of this process in bytes; `kstreams serve` sets it for child processes."""


def replayed_app(
    state: AppState,
    place: Place,
    topology: str | None,
    connection: str | None,
    *,
    repeat_calls: bool,
    most_bytes: int | None = None,
) -> ReplayedApp | None:
    """Return an app whose batches can be replayed; None without a topology.

    Args:
        state: The state of the app.
        place: The connection to the topics by the options --data and --bootstrap.
        topology: The topology, as MODULE:NAME.
        connection: A connection that replaces the one of `place`, as MODULE:NAME; None: `place` is
            used.
        repeat_calls: Whether the replay may repeat requests of processors to external systems, and
            calls of sink functions.
        most_bytes: The memory limit of this process in bytes; None: no limit.
    """
    if most_bytes is not None:
        limit_memory(most_bytes)
    if topology is None:
        return None
    with for_option("--topology"):
        found = load_topology(topology)
    topics = place.connection if connection is None else load_connection(connection)
    return ReplayedApp(state.checkpoint, found, topics, state.log, repeat_calls=repeat_calls)
