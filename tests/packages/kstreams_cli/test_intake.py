"""`kstreams intake`: refused options, and a process that ends cleanly on a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kstreams.intakes import MESSAGE_ID
from tests.support.cli.command_line import kstreams
from tests.support.intakes.scripted_intake import records_of
from tests.support.intakes.webhook_senders import SECRET, Retrying, hook

MODULE = """
import os
from dataclasses import replace
from kstreams.intakes import HmacSignature, Webhook

SECRETS = (os.environ.get("HOOK_SECRET", "a secret of the tests"),)
PORT = int(os.environ.get("HOOK_PORT", "0"))
HOOK = Webhook(
    "/orders", HmacSignature(SECRETS, prefix="sha256="), port=PORT, id_header="x-id"
)
NONE = 5


def make():
    return HOOK


def keyed(delivery):
    return replace(delivery, key=delivery.value[:1])
"""


@pytest.fixture(autouse=True)
def _module(_alone: None) -> None:
    Path("hooks.py").write_text(MODULE)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("hooks:NO", "--topic", "t"), "has no 'NO'"),
        (("hooks:NONE", "--topic", "t"), "expected an Intake"),
        (("hooks:HOOK",), "--topic"),
        (("hooks:HOOK", "--topic", "t", "--complete", "hooks:NONE"), "expected a function"),
        (("hooks:HOOK", "--topic", "t", "--on-error", "maybe"), "maybe"),
        (("hooks:HOOK", "--topic", "t", "--on-error", "skip", "--dead-letters", "d"), "not both"),
        (("hooks:HOOK", "--topic", "t", "--give-up-after", "soon"), "--give-up-after"),
        (("hooks:HOOK", "--topic", "t", "--value-serde", "none-such"), "--value-serde"),
    ],
)
def test_intake_command_with_invalid_arguments_is_usage_error(
    options: tuple[str, ...], said: str
) -> None:
    found = kstreams("intake", *options)
    assert (found.exit_code, said in " ".join(found.stderr.split())) == (2, True)


def test_intake_prints_a_summary_at_its_end() -> None:
    found = kstreams("intake", "hooks:make", "--topic", "t", "--timeout", "10ms")
    assert found.exit_code == 0
    assert "webhook /orders: 0 received, 0 appended, no gaps" in " ".join(found.stderr.split())


@pytest.mark.slow
def test_intake_runs_without_pyspark_and_ends_on_a_signal(tmp_path: Path) -> None:
    port = hook().port
    program = (
        "import sys; from kstreams_cli import main; import atexit;"
        "atexit.register(lambda: print('pyspark' in sys.modules));"
        "sys.argv = ['kstreams', 'intake', 'hooks:HOOK', '--topic', 'orders', '--data', 'data',"
        "'--value-serde', 'json', '--complete', 'hooks:keyed', '--dead-letters', 'none'];"
        "main()"
    )
    environment = {**os.environ, "HOOK_SECRET": SECRET, "HOOK_PORT": str(port)}
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        sender = Retrying(port, [("1", b"[1]"), ("2", b"none"), ("1", b"[1]"), ("3", b"[3]")])
        assert sender.wait(60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert process.stdout is not None
        said = process.stderr.read()
        assert "4 received, 2 appended, 1 came again, 1 set aside, no gaps" in said
        assert SECRET not in said
        assert "True" not in process.stdout.read()
    assert sender.settled == ["1", "2", "1", "3"]
    records = records_of("data", "orders")
    assert {(r.key, r.value, dict(r.headers)[MESSAGE_ID]) for r in records} == {
        (b"[", b"[1]", b"1"),
        (b"[", b"[3]", b"3"),
    }
    assert [record.value for record in records_of("data", "none")] == [b"none"]
