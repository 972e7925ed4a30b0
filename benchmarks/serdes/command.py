"""The command `serdes`: measures serdes and prints tables."""

from __future__ import annotations

import argparse
import base64
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.serdes.ours import Costs, costs, framed_serdes, plain_serdes
from benchmarks.serdes.pipeline import rates
from benchmarks.serdes.values import file_proto, orders
from benchmarks.suite.environment import installed, python_of
from benchmarks.suite.peer import Unavailable
from devtools.servers.fake_registry import FakeRegistry
from kstreams.serde import SchemaSerde

__all__ = ("add_to",)

_PACKAGES = ("confluent-kafka[avro,json,protobuf,schemaregistry]>=2.13",)
_ROUNDS = 5
_OF_CONFLUENT = 2_000


def add_to(commands: Any, *, cache: Path) -> None:
    """Add the command."""
    serdes = commands.add_parser("serdes", help="compare serdes with those of Confluent")
    serdes.add_argument(
        "--records", type=int, default=50_000, metavar="N", help="records; default: %(default)s"
    )
    serdes.add_argument("--part", action="append", choices=("serdes", "confluent", "windows"))
    serdes.add_argument(
        "--cache",
        type=Path,
        default=cache,
        help="folder of Confluent's serdes; default: %(default)s",
    )
    serdes.add_argument("--json", type=Path, help="also write the figures to this file, as JSON")
    serdes.set_defaults(call=_serdes)


def _serdes(options: argparse.Namespace) -> int:
    parts = options.part or ("serdes", "confluent", "windows")
    figures: dict[str, Any] = {"machine": machine()}
    print(json.dumps(figures["machine"]))
    if "serdes" in parts:
        figures["plain"] = dict(costs(plain_serdes(), options.records, _ROUNDS))
        _table("plain, µs of processor time a record", figures["plain"])
        with FakeRegistry() as registry:
            figures["framed"] = dict(costs(framed_serdes(registry), options.records, _ROUNDS))
        _table("with a registry's ids", figures["framed"])
    if "confluent" in parts:
        try:
            figures["confluent"] = _confluents(options.cache)
            _table("Confluent's own", figures["confluent"])
        except Unavailable as exc:
            print(f"Confluent's serdes are not available: {exc}")
    if "windows" in parts:
        figures["windows"] = dict(rates(_ROUNDS))
        _table("tumbling windows, records a second", figures["windows"], "{:,.0f}")
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1))
    return 0


def _confluents(cache: Path) -> dict[str, Costs]:
    """Measure Confluent's serdes on the same rows, in a separate environment."""
    installed(cache, "confluent-serdes", _PACKAGES)
    given = orders(_OF_CONFLUENT)
    with FakeRegistry() as registry:
        cases = {}
        for name, (serde, made) in framed_serdes(registry).items():
            plain = serde.plain
            assert isinstance(plain, SchemaSerde)  # noqa: S101  # for type checkers
            text = plain.schema.text
            if name == "protobuf":
                text = base64.b64encode(file_proto().SerializeToString()).decode()
            rows = serde.serialize_many([made(order) for order in given]).to_pylist()
            cases[name] = {"schema": text, "rows": [row.hex() for row in rows]}
    done = subprocess.run(  # noqa: S603  # our own program
        [str(python_of(cache, "confluent-serdes")), str(Path(__file__).parent / "confluents.py")],
        input=json.dumps({"cases": cases}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Unavailable(done.stderr[-2_000:])
    found: dict[str, Costs] = json.loads(done.stdout)
    return found


def _table(title: str, rows: Mapping[str, Costs], form: str = "{:.2f}") -> None:
    columns = list(dict.fromkeys(name for costs in rows.values() for name in costs))
    print(f"\n| {title} | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for name, found in rows.items():
        cells = (form.format(found[each]) if each in found else "-" for each in columns)
        print(f"| {name} | {' | '.join(cells)} |")
