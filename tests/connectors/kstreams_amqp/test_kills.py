"""An intake that is killed at random while messages arrive: each is in the topic once."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kstreams import Embedded
from kstreams.errors import UnknownTopicError
from tests.connectors.kstreams_amqp.queues import Place
from tests.support.intakes.scripted_intake import records_of

pytestmark = [pytest.mark.connectors, pytest.mark.kill, pytest.mark.timeout(300)]

KILLS = int(os.environ.get("KSTREAMS_KILLS", "4"))
MESSAGES = 400
MODULE = """
import os
from kstreams_amqp import AmqpQueue
Q = AmqpQueue(os.environ["Q_URL"], os.environ["Q_NAME"])
"""


def _start(folder: Path, place: Place) -> subprocess.Popen[bytes]:
    program = "from kstreams_cli import main; main()"
    command = [
        sys.executable,
        "-c",
        program,
        "intake",
        "queues:Q",
        "--topic",
        "raw",
        "--batch",
        "20",
    ]
    environment = {**os.environ, "Q_URL": place.url, "Q_NAME": place.queue}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _count(folder: Path) -> int:
    try:
        return sum(Embedded(folder / "data").admin().end_offsets("raw").values())
    except UnknownTopicError:
        return 0


def test_each_message_is_in_the_topic_once_after_kills(place: Place, tmp_path: Path) -> None:
    (tmp_path / "queues.py").write_text(MODULE)
    chance, sent = random.Random(11), 0
    for _ in range(KILLS):
        place.publish(*[(str(n), b"%d" % n) for n in range(sent, sent + MESSAGES)])
        sent += MESSAGES
        before, process = _count(tmp_path), _start(tmp_path, place)
        while _count(tmp_path) < before + chance.randrange(1, MESSAGES // 2):
            assert process.poll() is None
            time.sleep(0.001)
        process.kill()
        process.wait()
    process = _start(tmp_path, place)
    end = time.monotonic() + 60
    while _count(tmp_path) < sent and time.monotonic() < end:
        assert process.poll() is None
        time.sleep(0.05)
    process.terminate()
    assert process.wait(30) == 0
    values = [int(record.value or b"") for record in records_of(tmp_path / "data", "raw")]
    assert sorted(values) == list(range(sent))
    assert place.messages() == []
