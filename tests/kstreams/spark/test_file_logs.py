"""Apps that read files, with or without topics."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from kstreams import INT64, TEXT, App, Record, Topic, Topology, TopologyBuilder, key_value_store
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.errors import CompileError, FileChangedError, ProcessingError, StateCorruptError
from kstreams.operators import flat_map, rekey
from kstreams.serde import NONE
from kstreams.sinks import CommitId, Results, to_batches
from kstreams.sources import Lines, folder
from kstreams.testing import TopologyTestDriver
from tests.support.apps.word_counter import CountWords
from tests.support.cli.command_line import say
from tests.support.spark.bench import Bench

pytestmark = pytest.mark.spark

WORDS = Topic("words", TEXT, NONE)
TOTALS = Topic("totals", TEXT, INT64)
COUNTS = key_value_store("counts", key=TEXT, value=INT64)


def counting(place: Path) -> Topology:
    """Count the words of files and of a topic together."""
    builder = TopologyBuilder("files")
    lines = builder.add_source("lines", folder("lines", place, Lines(TEXT), partitions=2))
    words = builder.add_processor("split", flat_map(_split), lines)
    others = builder.add_source("words", WORDS)
    edge = builder.repartition("by-word", words, others, key=TEXT, value=NONE)
    counts = builder.add_processor("count", lambda: CountWords(COUNTS), edge, stores=[COUNTS])
    builder.add_sink("totals", TOTALS, counts)
    return builder.build()


def _split(_: None, line: str) -> Iterator[tuple[str, None]]:
    return ((word, None) for word in line.split())


def write(place: Path, number: int, text: str) -> None:
    (place / f"{number}.part").write_text(text)
    os.utime(place / f"{number}.part", (number, number))
    (place / f"{number}.part").rename(place / f"{number}.txt")


def test_files_and_topics_give_results_of_test_driver(bench: Bench, tmp_path: Path) -> None:
    """Batches are small, and the app is restarted between files."""
    places = tmp_path / "spark", tmp_path / "driver"
    for place in places:
        place.mkdir()
    bench.create(WORDS)
    reference = TopologyTestDriver(
        counting(places[1]), partitions={"words": 2, "totals": 4}, real_sources=True
    )
    with reference as driver:
        for step in range(3):
            text = "\n".join(f"a b{n % 3} c{n}" for n in range(20 + step))
            words = [Record("a", None, 1_000 * step), Record(f"d{step}", None, 1_000 * step)]
            for place in places:
                write(place, 2 * step, text)
                write(place, 2 * step + 1, "" if step else "a\n\nlast")
            bench.emit(WORDS, words)
            for word in words:
                driver.write(WORDS, word.key, None, timestamp=word.timestamp)
            driver.run()
            bench.run(counting(places[0]), max_records_per_batch=17)
        expected = [(r.key, r.value, r.timestamp) for r in driver.read_rows("totals")]
    found = [(r.key, r.value, r.timestamp) for r in bench.raw(TOTALS)]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert len({report.batch for report in bench.reports}) > 6
    assert max(report.source_records for report in bench.reports) <= 17
    assert {report.backlog for report in bench.reports} > {0}


def test_app_without_topics_needs_no_connection(bench: Bench, tmp_path: Path) -> None:
    seen = tmp_path / "seen"

    def note(results: Results[str, str], commit: CommitId) -> None:
        with seen.open("a") as file:
            file.writelines(f"{commit.batch} {record.value}\n" for record in results.records())

    builder = TopologyBuilder("alone")
    lines = builder.add_source("lines", folder("lines", tmp_path / "in", Lines(TEXT)))
    keyed = builder.add_processor("key", rekey(lambda _, value: value), lines)
    builder.add_sink("seen", to_batches(note), keyed)
    (tmp_path / "in").mkdir()
    write(tmp_path / "in", 1, "one\ntwo\n")
    with App(builder.build(), checkpoint=bench.checkpoint, **bench.engine) as app:
        app.run(until="end", timeout=timedelta(seconds=90))
    assert seen.read_text() == "0 one\n0 two\n"
    builder.add_sink("topic", Topic("out", TEXT, TEXT), keyed)
    with pytest.raises(CompileError, match="topic 'out', and the app has no connection"):
        App(builder.build(), checkpoint=tmp_path / "other", **bench.engine).run(until="end")


def test_changed_file_stops_app(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in", 1, "one\ntwo\n")
    bench.create(WORDS)
    folder("lines", tmp_path / "in", Lines(TEXT), partitions=2).contents().ends()
    write(tmp_path / "in", 1, "one\ntwo\nthree\n")
    with pytest.raises(FileChangedError, match=r"1\.txt"):
        bench.run(counting(tmp_path / "in"))


LOGGED = COUNTS.with_changelog("counts-log")
POISON = "poison"


def counting_logged(place: Path) -> Topology:
    """Count words of files removed at commit, in a store with a changelog; one fails at first."""
    builder = TopologyBuilder("files")
    log = folder("lines", place, Lines(TEXT), partitions=2, when_read="delete")
    lines = builder.add_source("lines", log)
    words = builder.add_processor("split", flat_map(partial(_checked, place.parent)), lines)
    edge = builder.repartition("by-word", words, key=TEXT, value=NONE)
    counts = builder.add_processor("count", partial(CountWords, LOGGED), edge, stores=[LOGGED])
    builder.add_sink("totals", TOTALS, counts)
    return builder.build()


def _checked(home: Path, _: None, line: str) -> Iterator[tuple[str, None]]:
    if line == POISON and not (home / "cured").exists():
        raise ValueError(line)
    return _split(None, line)


def test_store_is_rebuilt_and_files_are_continued_at_their_position(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counted files are gone; a batch of the next file was planned and has failed."""
    place = tmp_path / "in"
    place.mkdir()
    topology = counting_logged(place)
    texts = ["\n".join(f"a b{n % 3} c{n}" for n in range(20 + number)) for number in range(3)]
    poisoned = "\n".join(["a"] * 9 + [POISON] + ["d"] * 9)
    for number, text in enumerate([*texts, poisoned]):
        write(place, number, text)
    with pytest.raises(ProcessingError, match=POISON):
        bench.run(topology, max_records_per_batch=30)
    before = bench.store(topology, LOGGED)
    assert before["b1"] > 1
    assert len(list(place.glob("*.txt"))) < 4
    objects = Checkpoint.load(home_of(bench.checkpoint)).log.open()
    pointers = bench.last_commit(topology).pointers().values()
    objects.delete([ref.name for pointer in pointers for ref in pointer.objects()])
    with pytest.raises(StateCorruptError):
        bench.store(topology, LOGGED)

    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "lost_counts.py").write_text(
        "from pathlib import Path\n"
        "from tests.kstreams.spark.test_file_logs import counting_logged\n"
        f"TOPOLOGY = counting_logged(Path({str(place)!r}))\n"
    )
    where = ("--checkpoint", str(bench.checkpoint))
    output = say(
        *("state", "restore", "files", "--from-changelog", "--yes", *where),
        *("--topology", "lost_counts:TOPOLOGY", "--data", str(tmp_path / "topics")),
    )
    assert output.startswith("Rebuilt 1 store of files from ")
    assert bench.store(topology, LOGGED) == before

    (tmp_path / "cured").touch()
    texts += [poisoned, "a c1 last"]
    write(place, 4, texts[-1])
    bench.run(topology, max_records_per_batch=30)
    counts = Counter(word for text in texts for word in text.split())
    assert bench.store(topology, LOGGED) == counts
    assert Counter(bench.records(TOTALS)) == Counter(
        (word, number) for word, count in counts.items() for number in range(1, count + 1)
    )
    assert list(place.glob("*.txt")) == []
    say("state", "verify", "files", *where)
