"""A script started from another folder, with modules in the script's folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
import sys
from orders_pb2 import Order
from near import tripled
from kstreams import INT64, TEXT, App, Embedded, Emitter, Topic, TopologyBuilder
from kstreams.operators import map_values
from kstreams_protobuf import protobuf_serde

def late(value):
    import imported_late
    return imported_late.incremented(value)

topics = Embedded(sys.argv[1] + "/topics", default_partitions=1, durable=False)
orders, results = Topic("orders", TEXT, protobuf_serde(Order)), Topic("results", TEXT, INT64)
builder = TopologyBuilder("near")
source = builder.add_source("orders", orders)
node = builder.add_processor("count", map_values(lambda order: order.ByteSize()), source)
node = builder.add_processor("tripled", map_values(tripled), node)
node = builder.add_processor("late", map_values(late), node)
builder.add_sink("results", results, node)
with Emitter(orders, topics) as emitter:
    emitter.emit("a", Order())
App(builder.build(), topics, checkpoint=sys.argv[1] + "/app").run(until="end")
(record,) = topics.reader().read("results", 0, 0, 1)
print(INT64.deserialize(record.value))
"""


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_script_started_from_another_folder_uses_modules_of_its_folder(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "main.py").write_text(_SCRIPT)
    (project / "near.py").write_text("def tripled(value):\n    return 3 * value\n")
    (project / "imported_late.py").write_text("def incremented(value):\n    return value + 1\n")
    shutil.copy(Path("examples/orders_pb2.py"), project)
    command = [sys.executable, "project/main.py", str(tmp_path)]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    assert done.stdout == "1\n"
