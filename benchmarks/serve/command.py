"""The command `serve`: reads over HTTP while an app commits, and the effect on the app."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.serve.effect import effect
from benchmarks.serve.reading import Load, reading

__all__ = ("add_to",)

PARTS = ("reads", "large", "app")
_LARGE = 10
"""Factor of the number of changed keys per commit in the case `large`."""
_SELDOM = 4
"""Factor of the time between commits in the case `large`."""


def add_to(commands: Any, *, count: Callable[[str], int]) -> None:
    """Add the command.

    Args:
        commands: Subparsers of the parser.
        count: Reads a number.
    """
    serve = commands.add_parser("serve", help="measure reads over HTTP while an app commits")
    serve.add_argument(
        "--part", action="append", choices=PARTS, help="part to run; repeatable; default: all"
    )
    serve.add_argument(
        "--keys", type=count, default=1_000_000, help="keys in 4 partitions; default: %(default)s"
    )
    serve.add_argument(
        "--changed",
        type=count,
        default=10_000,
        help="changed keys per commit; default: %(default)s",
    )
    serve.add_argument(
        "--every", type=float, default=0.5, help="seconds per commit; default: %(default)s"
    )
    serve.add_argument(
        "--rate", type=float, default=200.0, help="reads per second; default: %(default)s"
    )
    serve.add_argument(
        "--seconds", type=float, default=15.0, help="time per figure; default: %(default)s"
    )
    serve.add_argument(
        "--rounds", type=count, default=6, help="rounds of `app`; default: %(default)s"
    )
    serve.add_argument(
        "--records", type=count, default=40_000_000, help="records of `app`; default: %(default)s"
    )
    serve.add_argument("--json", type=Path, help="also write the figures to this file, as JSON")
    serve.set_defaults(call=_serve)
    pages = commands.add_parser(
        "pages", help="measure the web pages: size, and time to the first live update"
    )
    pages.add_argument(
        "--tasks", type=count, default=64, help="tasks of the app; default: %(default)s"
    )
    pages.add_argument(
        "--batches", type=count, default=20, help="committed batches; default: %(default)s"
    )
    pages.add_argument(
        "--rounds", type=count, default=5, help="rounds for the median; default: %(default)s"
    )
    pages.set_defaults(call=_pages)


def _pages(options: argparse.Namespace) -> int:
    from benchmarks.serve.pages import measure_pages  # noqa: PLC0415  # needs Playwright

    return measure_pages(options)


def _serve(options: argparse.Namespace) -> int:
    parts: list[str] = options.part or list(PARTS)
    rate, seconds = options.rate, options.seconds
    load = Load(options.keys, options.changed, options.every, rate, seconds)
    large = Load(options.keys, _LARGE * options.changed, _SELDOM * options.every, rate, seconds)
    measured: dict[str, Callable[[], dict[str, float]]] = {
        "reads": lambda: reading(load),
        "large": lambda: reading(large),
        "app": lambda: effect(
            records=options.records, rounds=options.rounds, rate=rate, seconds=seconds / 3
        ),
    }
    about = machine()
    print(json.dumps(about))
    figures: dict[str, dict[str, float]] = {}
    for part in parts:
        print(f"\n{part}", flush=True)
        figures[part] = measured[part]()
        for name, value in figures[part].items():
            print(f"{name:32}{value:12,.2f}", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": about, "figures": figures}, indent=1))
    return 0
