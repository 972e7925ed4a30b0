"""The command `connectors`: runs the benchmarks of connectors and prints tables."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.connectors.asking import calls
from benchmarks.connectors.kafka import deliveries
from benchmarks.connectors.lakes import tables
from benchmarks.connectors.postgres import rates, small_batches
from benchmarks.connectors.streams import in_and_out
from benchmarks.machine import machine
from devtools.servers.postgres import PostgresServer

__all__ = ("add_to",)

_ROUNDS = 5
_AT_ONCE = 64
_PARTS = ("postgres", "kafka", "lakes", "streams", "calls")


def add_to(commands: Any) -> None:
    """Add the command."""
    connectors = commands.add_parser(
        "connectors",
        help="measure sinks, streams and concurrent calls of external systems",
    )
    connectors.add_argument(
        "--rows", type=int, default=50_000, metavar="N", help="rows per sink; default: %(default)s"
    )
    connectors.add_argument(
        "--stream-rows",
        type=int,
        default=200_000,
        metavar="N",
        help="records per stream; default: %(default)s",
    )
    connectors.add_argument(
        "--calls",
        type=int,
        default=4_000,
        metavar="N",
        help="number of calls; default: %(default)s",
    )
    connectors.add_argument("--part", action="append", choices=_PARTS)
    connectors.add_argument(
        "--json", type=Path, help="also write the figures to this file, as JSON"
    )
    connectors.set_defaults(call=_connectors)


def _connectors(options: argparse.Namespace) -> int:
    parts = options.part or _PARTS
    figures: dict[str, Any] = {"machine": machine()}
    print(json.dumps(figures["machine"]))
    if "postgres" in parts:
        with PostgresServer() as server:
            figures["rows"] = dict(rates(server, options.rows, _ROUNDS))
            _table("PostgreSQL, rows a second of one task", figures["rows"], "{:10,.0f}")
            figures["batches"] = dict(small_batches(server))
            _table("small batches, ms", figures["batches"], "{:10.2f}")
    if "kafka" in parts:
        figures["kafka"] = dict(deliveries(options.rows, _ROUNDS))
        _table("Kafka, results of one task", figures["kafka"], "{:12,.1f}")
    if "lakes" in parts:
        figures["lakes"] = dict(tables(options.rows, _ROUNDS))
        _table("tables of files on a disk, results of one task", figures["lakes"], "{:12,.1f}")
    if "streams" in parts:
        figures["streams"] = dict(in_and_out(options.stream_rows))
        _table("streams of Redis and RabbitMQ, one task", figures["streams"], "{:12,.1f}")
    if "calls" in parts:
        figures["calls"] = calls(options.calls, _AT_ONCE)
        _table("calls of 20 ms, a second", figures["calls"], "{:10,.1f}")
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1))
    return 0


def _table(title: str, rows: Mapping[str, float], form: str) -> None:
    print(f"\n{title}")
    for name, figure in rows.items():
        print(f"  {name:45} {form.format(figure)}")
