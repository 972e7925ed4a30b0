"""Messages in Spark's workers and stores, and in views by descriptors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from shutil import copy2

import pytest

from kstreams_protobuf.descriptor_set import serialized_set

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_script_with_protobuf_messages_runs_on_spark(tmp_path: Path) -> None:
    from orders_pb2 import Order

    for source in (EXAMPLES / "protobuf_orders.py", EXAMPLES / "orders_pb2.py"):
        copy2(source, tmp_path)
    copy2(Path(__file__).with_name("spark_orders.py"), tmp_path)
    (tmp_path / "orders.desc").write_bytes(serialized_set(Order.DESCRIPTOR)[0])
    done = subprocess.run(
        [sys.executable, "spark_orders.py", str(tmp_path)],
        cwd=tmp_path,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["a a 3", "b b 5", "c c 2"]
