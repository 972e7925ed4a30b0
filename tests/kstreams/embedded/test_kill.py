"""Writers killed with SIGKILL at every step leave a log that remains usable."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from kstreams import Embedded, Emitter
from kstreams.embedded.log import EmbeddedLog
from tests.kstreams.embedded.sample_tables import rows, values
from tests.kstreams.embedded.test_concurrent import start
from tests.support.processes import emitting_process as emitting
from tests.support.processes.emitting_process import TOPIC
from tests.support.processes.forked_programs import Forked

pytestmark = [pytest.mark.kill, pytest.mark.slow]

TWO_ACKNOWLEDGED = 3  # the system call of the third batch
STEPS = {
    "before the staged file is written": ("write", "before", TWO_ACKNOWLEDGED),
    "after the staged file is written": ("write", "after", TWO_ACKNOWLEDGED),
    "before the head": ("pwrite", "before", TWO_ACKNOWLEDGED),
    "after the head": ("pwrite", "after", TWO_ACKNOWLEDGED),
    "before the link": ("link", "before", TWO_ACKNOWLEDGED),
    "after the link": ("link", "after", TWO_ACKNOWLEDGED),
    "before the directory is on the disk": ("fsync", "before", 2 * TWO_ACKNOWLEDGED),
    "before the staged file is removed": ("unlink", "before", TWO_ACKNOWLEDGED),
}


@pytest.mark.parametrize(("call", "moment", "after"), STEPS.values(), ids=STEPS)
def test_batches_of_writer_killed_at_any_step_are_appended_once_by_replay(
    tmp_path: Path, call: str, moment: str, after: int
) -> None:
    watching = EmbeddedLog(tmp_path)
    watching.create("t", 1)
    killed = start(tmp_path, "p", 5, call, moment, str(after))
    printed = killed.communicate()[0].split()
    assert killed.returncode == -signal.SIGKILL
    assert printed == ["0", "0", "1", "2"]
    assert values(watching, "t")[:4] == [0, 1, 2, 3]
    assert watching.append("t", 0, rows(99), producer="other", batch=0).first_offset in (4, 6)

    for batch in range(5):
        content = rows(2 * batch, 2 * batch + 1)
        EmbeddedLog(tmp_path).append("t", 0, content, producer="p", batch=batch)
    for log in (watching, EmbeddedLog(tmp_path)):
        found = values(log, "t")
        assert [value for value in found if value != 99] == list(range(10))
        assert len(found) == 11
    watching.sweep_staged([], older_than_ms=2**53)
    assert list((tmp_path / "t" / ".staged").glob("*/*")) == []
    assert len(values(watching, "t")) == 11


def test_acknowledged_rows_survive_kills_at_random(tmp_path: Path) -> None:
    log = EmbeddedLog(tmp_path)
    log.create("t", 1)
    acknowledged: dict[tuple[str, int], int] = {}
    for round_number in range(4):
        writers = {name: start(tmp_path, f"{name}{round_number}", 10_000) for name in ("p", "q")}
        outputs = {name: writer.stdout for name, writer in writers.items()}
        for name, output in outputs.items():
            for _ in range(3 + 4 * round_number):
                batch, first = output.readline().split()
                acknowledged[name + str(round_number), int(batch)] = int(first)
        for writer in writers.values():
            writer.kill()
            writer.communicate()
        found = values(log, "t")
        for (_, number), at in acknowledged.items():
            assert found[at : at + 2] == [2 * number, 2 * number + 1]
    assert values(EmbeddedLog(tmp_path), "t") == values(log, "t")
    assert len({s.name for s in log.segments("t", 0)}) == log.end_offset("t", 0) // 2


EMITTING = {
    "before the topic's first directory": ("mkdir", "before", 1, 0),
    "between the topic's directories": ("mkdir", "after", 2, 0),
    "before the topic's description": ("write", "before", 1, 0),
    "before the topic is seen": ("rename", "before", 1, 0),
    "after the topic is seen": ("rename", "after", 1, 0),
    "before the first record is staged": ("write", "before", 2, 0),
    "after the first record is staged": ("write", "after", 2, 0),
    "before the first head": ("pwrite", "before", 1, 0),
    "after the first head": ("pwrite", "after", 1, 0),
    "before the third link": ("link", "before", 3, 2),
    "after the third link": ("link", "after", 3, 2),
    "before the third staged file is removed": ("unlink", "before", 3, 2),
}


@pytest.mark.parametrize(
    ("call", "moment", "after", "printed_count"), EMITTING.values(), ids=EMITTING
)
def test_emitter_killed_at_any_step_leaves_complete_records_and_usable_log(
    tmp_path: Path, call: str, moment: str, after: int, printed_count: int
) -> None:
    killed = Forked(emitting.main, str(tmp_path), "5", call, moment, str(after))
    printed = killed.communicate()[0].split()
    assert killed.returncode == -signal.SIGKILL
    assert printed == [str(number) for number in range(printed_count)]

    log = EmbeddedLog(tmp_path)
    found = read(log) if log.topics() else []
    assert found in (list(range(printed_count)), list(range(printed_count + 1)))
    with Emitter(TOPIC, Embedded(tmp_path, default_partitions=1)) as emitter:
        emitter.emit("k", 99, timestamp=1)
    for each in (log, EmbeddedLog(tmp_path)):
        assert read(each) == [*found, 99]
    log.sweep_staged([], older_than_ms=2**53)
    left = [path.name for path in tmp_path.iterdir()]
    assert left == ["t"]
    assert list((tmp_path / "t" / ".staged").glob("*/*")) == []
    assert read(log) == [*found, 99]


def read(log: EmbeddedLog) -> list[int]:
    tables = [log.read(segment) for segment in log.segments("t", 0)]
    return [TOPIC.value.deserialize(value.as_py()) for table in tables for value in table["value"]]
