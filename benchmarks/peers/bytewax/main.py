"""The workloads in Bytewax. Imports nothing of the suite, which its environment lacks."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
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
from confluent_kafka import Consumer, TopicPartition

ALIGNED = datetime(2024, 1, 1, tzinfo=timezone.utc)
# A key's clock advances with the machine's; records read late must not be late records.
CLOCK = win.EventClock(
    ts_getter=lambda click: datetime.fromtimestamp(click.timestamp[1] / 1000, timezone.utc),
    wait_for_system_duration=timedelta(seconds=10),
)
# If topics or joined partitions are read unevenly, a window ends with the input.
AT_THE_END = replace(CLOCK, wait_for_system_duration=timedelta(days=2))
GAP = timedelta(seconds=30)
SIZE = timedelta(seconds=10)
_TOLD_EVERY, _WIDTH, _MOST_PROCESSES = 2_000, 8, 8
START_MS = round(ALIGNED.timestamp() * 1000)
RECOVERY = Path(os.environ["BENCH_HOME"]) / "recovery"


def main() -> None:
    others = [_another(number) for number in range(1, _begin())]
    given = os.environ
    try:
        cli_main(
            _flow(
                [given["BENCH_BOOTSTRAP"]], given["BENCH_INPUTS"].split(","), given["BENCH_OUTPUT"]
            ),
            process_id=int(given["BENCH_NUMBER"]),
            addresses=given["BENCH_ADDRESSES"].split(),
            recovery_config=RecoveryConfig(RECOVERY),
        )
    finally:
        for other in others:
            other.wait()


def _begin() -> int:
    """Set up the shared state in the first process; return the total number of processes."""
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
    """Return free addresses of this machine."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return found


def _flow(brokers: list[str], sources: list[str], sink: str) -> Dataflow:
    flow = Dataflow("bench")
    workload = os.environ["BENCH_WORKLOAD"]
    # W5 reads its table completely at the start; the other inputs are read as they arrive.
    read = sources[:1] if workload == "W5" else sources
    keyed = [_keyed(flow, number, source, brokers) for number, source in enumerate(read)]
    if workload == "W5":
        results = _regions(keyed[0], *_loaded(brokers, sources[1]))
    elif workload in ("W6", "W6o"):
        results = _pairs(*keyed, outer=workload == "W6o")
    else:
        results = _results(keyed[0], workload)
    messages = op.map("message", results, _message)
    kop.output("results", messages, brokers=brokers, topic=sink)
    return flow


def _keyed(flow: Any, number: int, source: str, brokers: list[str]) -> Any:
    # The end of the input closes all windows; otherwise those of quiet keys wait for the clock.
    records = op.input(f"input-{number}", flow, KafkaSource(brokers, [source], tail=False))
    return op.map(f"keyed-{number}", records, lambda record: (record.key.decode(), record))


def _loaded(brokers: list[str], source: str) -> tuple[dict[str, str], int]:
    """Return the region of each user before the first view, and the number of records read."""
    consumer = Consumer({"bootstrap.servers": ",".join(brokers), "group.id": "loading"})
    partitions = consumer.list_topics(source).topics[source].partitions
    places = [TopicPartition(source, number, 0) for number in partitions]
    read = left = sum(consumer.get_watermark_offsets(place)[1] for place in places)
    consumer.assign(places)
    regions: dict[str, str] = {}
    while left:
        for message in consumer.consume(10_000, 1):
            left -= 1
            if message.timestamp()[1] < START_MS:
                user = json.loads(message.value() or b"{}")
                regions[(message.key() or b"").decode()] = user["region"]
    consumer.close()
    return regions, read


class _Told:
    """Reports the progress of all processes, because no result is written before the input ends."""

    def __init__(self, before: int) -> None:
        path = Path(os.environ["BENCH_HOME"]) / "records"
        self._file = os.open(path, os.O_RDWR | os.O_CREAT)
        os.truncate(self._file, _WIDTH * _MOST_PROCESSES)
        self._place = _WIDTH * int(os.environ["BENCH_NUMBER"])
        self._before, self._own = before, 0

    def __call__(self, view: Any) -> Any:
        self._own += 1
        if self._own % _TOLD_EVERY == 0:
            os.pwrite(self._file, self._own.to_bytes(_WIDTH, "big"), self._place)
            all_own = os.pread(self._file, _WIDTH * _MOST_PROCESSES, 0)
            places = range(0, len(all_own), _WIDTH)
            read = sum(int.from_bytes(all_own[at : at + _WIDTH], "big") for at in places)
            print(f"progress {self._before + read}", flush=True)
        return view


def _regions(views: Any, regions: dict[str, str], before: int) -> Any:
    """Join with a side that does not change, as in Bytewax's documentation, and count."""
    told = op.map("told", views, _Told(before))
    region = op.enrich_cached(
        "region", told, regions.get, lambda cache, view: (cache.get(view[0]) or "?", view[1])
    )
    windower = win.TumblingWindower(length=SIZE, align_to=ALIGNED)
    counts = win.fold_window(
        "fold", region, AT_THE_END, windower, int, _add_one, int.__add__, ordered=False
    )
    return _with_spans(counts)


def _pairs(shown: Any, clicks: Any, *, outer: bool) -> Any:
    """Join by session windows that close after 10 s without records.

    Bytewax has no interval join. For this data set the result is the same: matching records are
    within 10 s of each other, and other records are further apart.
    """
    told = _Told(0)
    sides = [op.map(f"told-{n}", side, told) for n, side in enumerate((shown, clicks))]
    both = win.join_window(
        "join",
        AT_THE_END,
        win.SessionWindower(gap=SIZE),
        *sides,
        insert_mode="product",
        ordered=False,
    )

    def pair(joined: Any) -> tuple[str, tuple[int, int, Any]] | None:
        key, (_, sides) = joined
        if None in sides and not outer:
            return None
        ad, click = (side and json.loads(side.value) for side in sides)
        value = [ad and ad["cost"], click and click["price"]]
        return key, (ad["at"] if ad else 0, click["at"] if click else 0, value)

    return op.filter_map("pair", both.down, pair)


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
        windower = win.TumblingWindower(length=SIZE, align_to=ALIGNED)
    add = _add_amount if workload == "W3" else _add_one
    sums = win.fold_window("fold", keyed, CLOCK, windower, int, add, int.__add__)
    return _with_spans(sums)


def _with_spans(sums: Any) -> Any:
    both = op.join("spans", _by_window("value", sums.down), _by_window("meta", sums.meta))
    return op.map("plain", both, lambda pair: _span(*pair))


def _by_window(step: str, stream: Any) -> Any:
    """Key the stream by key and window, so that a value can be matched with its window's span."""
    return op.map(step, stream, lambda pair: (f"{pair[0]}\t{pair[1][0]}", pair[1][1]))


def _span(name: str, joined: Any) -> tuple[str, tuple[int, int, int]]:
    value, meta = joined
    return name.partition("\t")[0], (_ms(meta.open_time), _ms(meta.close_time), value)


def _add_one(total: int, _: Any) -> int:
    return total + 1


def _add_amount(total: int, click: Any) -> int:
    amount: int = json.loads(click.value)["amount"]
    return total + amount


def _message(result: tuple[str, tuple[int, int, Any]]) -> Any:
    key, (start, end, value) = result
    text = json.dumps({"start": start, "end": end, "value": value})
    return KafkaSinkMessage(key.encode(), text.encode())


def _ms(when: datetime) -> int:
    return round(when.timestamp() * 1000)


if __name__ == "__main__":
    main()
