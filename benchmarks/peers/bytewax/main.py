"""The workloads in Bytewax; imports nothing of the suite, its environment has none of it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax._bytewax import cli_main
from bytewax.connectors.kafka import KafkaSinkMessage, KafkaSource
from bytewax.connectors.kafka import operators as kop
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir

ALIGNED = datetime(2024, 1, 1, tzinfo=timezone.utc)
# A key's clock goes on with the machine's: records read late are not to be late.
CLOCK = win.EventClock(
    ts_getter=lambda click: datetime.fromtimestamp(click.timestamp[1] / 1000, timezone.utc),
    wait_for_system_duration=timedelta(seconds=10),
)
GAP = timedelta(seconds=30)
RECOVERY = Path(os.environ["BENCH_HOME"]) / "recovery"


def main() -> None:
    others = [_another(number) for number in range(1, _begin())]
    given = os.environ
    try:
        cli_main(
            _flow([given["BENCH_BOOTSTRAP"]], given["BENCH_INPUT"], given["BENCH_OUTPUT"]),
            process_id=int(given["BENCH_NUMBER"]),
            addresses=given["BENCH_ADDRESSES"].split(),
            recovery_config=RecoveryConfig(RECOVERY),
        )
    finally:
        for other in others:
            other.wait()


def _begin() -> int:
    """Make what all processes share, in the first; return how many there are to be."""
    given = os.environ
    if "BENCH_NUMBER" in given:
        return 1
    processes = int(given["BENCH_PROCESSES"])
    RECOVERY.mkdir(parents=True)
    init_db_dir(RECOVERY, processes)
    given["BENCH_ADDRESSES"] = " ".join(_addresses(processes))
    given["BENCH_NUMBER"] = "0"
    return processes


def _another(number: int) -> subprocess.Popen[bytes]:
    own = {**os.environ, "BENCH_NUMBER": str(number)}
    return subprocess.Popen([sys.executable, __file__], env=own)  # noqa: S603  # this file


def _addresses(count: int) -> list[str]:
    """Return addresses of this machine that are free."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return found


def _flow(brokers: list[str], source: str, sink: str) -> Dataflow:
    flow = Dataflow("bench")
    # The end of the input closes all windows; otherwise those of quiet keys wait for the clock.
    clicks = op.input("clicks", flow, KafkaSource(brokers, [source], tail=False))
    keyed = op.map("keyed", clicks, lambda click: (click.key.decode(), click))
    results = _results(keyed, os.environ["BENCH_WORKLOAD"])
    messages = op.map("message", results, _message)
    kop.output("results", messages, brokers=brokers, topic=sink)
    return flow


def _results(keyed: Any, workload: str) -> Any:
    """Return a stream of (key, (start, end, value))."""
    if workload == "W2":
        counts = op.stateful_map("count", keyed, lambda total, _: ((total or 0) + 1,) * 2)
        return op.map("plain", counts, lambda pair: (pair[0], (0, 0, pair[1])))
    windower: Any
    if workload == "W3":
        windower = win.SlidingWindower(timedelta(seconds=60), timedelta(seconds=10), ALIGNED)
    elif workload == "W4":
        windower = win.SessionWindower(gap=GAP)
    else:
        windower = win.TumblingWindower(length=timedelta(seconds=10), align_to=ALIGNED)
    add = _add_amount if workload == "W3" else _add_one
    sums = win.fold_window("fold", keyed, CLOCK, windower, int, add, int.__add__)
    both = op.join("spans", _by_window("value", sums.down), _by_window("meta", sums.meta))
    return op.map("plain", both, lambda pair: _span(*pair))


def _by_window(step: str, stream: Any) -> Any:
    """Key by key and window, so that a value finds its window's span."""
    return op.map(step, stream, lambda pair: (f"{pair[0]}\t{pair[1][0]}", pair[1][1]))


def _span(name: str, joined: Any) -> tuple[str, tuple[int, int, int]]:
    value, meta = joined
    return name.partition("\t")[0], (_ms(meta.open_time), _ms(meta.close_time), value)


def _add_one(total: int, _: Any) -> int:
    return total + 1


def _add_amount(total: int, click: Any) -> int:
    amount: int = json.loads(click.value)["amount"]
    return total + amount


def _message(result: tuple[str, tuple[int, int, int]]) -> Any:
    key, (start, end, value) = result
    text = json.dumps({"start": start, "end": end, "value": value})
    return KafkaSinkMessage(key.encode(), text.encode())


def _ms(when: datetime) -> int:
    return round(when.timestamp() * 1000)


if __name__ == "__main__":
    main()
