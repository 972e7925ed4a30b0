"""An intake that is killed at random while its senders retry: no accepted message is lost."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kstreams.intakes import MESSAGE_ID
from tests.support.intakes.scripted_intake import records_of
from tests.support.intakes.webhook_senders import SECRET, Retrying, hook

pytestmark = [pytest.mark.kill, pytest.mark.timeout(300)]

KILLS = int(os.environ.get("KSTREAMS_KILLS", "3"))
SENDERS = 3
MODULE = """
import os
from kstreams.intakes import HmacSignature, Webhook

HOOK = Webhook(
    "/orders",
    HmacSignature((os.environ["HOOK_SECRET"],), prefix="sha256="),
    port=int(os.environ["HOOK_PORT"]),
    id_header="x-id",
)
"""


def _start(place: Path, port: int) -> subprocess.Popen[bytes]:
    program = "from kstreams_cli import main; main()"
    command = [sys.executable, "-c", program, "intake", "hooks:HOOK", "--topic", "orders"]
    environment = {**os.environ, "HOOK_SECRET": SECRET, "HOOK_PORT": str(port)}
    return subprocess.Popen(
        command, cwd=place, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _settled(senders: list[Retrying]) -> list[str]:
    return [known for sender in senders for known in list(sender.settled)]


@pytest.mark.long
def test_accepted_messages_are_in_the_topic_once_after_kills(tmp_path: Path) -> None:
    (tmp_path / "hooks.py").write_text(MODULE)
    port, chance = hook().port, random.Random(7)
    messages = [
        [(f"{sender}-{number}", f"{sender}-{number}".encode()) for number in range(100_000)]
        for sender in range(SENDERS)
    ]
    senders = [Retrying(port, each) for each in messages]
    try:
        for _ in range(KILLS):
            before = len(_settled(senders))
            process = _start(tmp_path, port)
            while len(_settled(senders)) < before + chance.randrange(1, 60):
                assert process.poll() is None
                time.sleep(0.001)
            time.sleep(chance.random() * 0.02)
            process.kill()
            process.wait()
        process = _start(tmp_path, port)
        before = len(_settled(senders))
        while len(_settled(senders)) < before + 20:
            assert process.poll() is None
            time.sleep(0.01)
    finally:
        for sender in senders:
            sender.stop()
        process.terminate()
        assert process.wait(30) == 0
    records = records_of(tmp_path / "data", "orders")
    ids = [dict(record.headers)[MESSAGE_ID] for record in records]
    assert len(ids) == len(set(ids))
    assert {known.encode() for known in _settled(senders)} <= set(ids)
    assert all(record.value == known for record, known in zip(records, ids, strict=True))
