"""A process that appends segments, and may kill itself at a chosen system call.

Arguments: ROOT TOPIC PRODUCER BATCHES [CALL MOMENT AFTER]. Appends batches of two rows to partition
    0 and prints the first offset of each batch. With CALL (such as `link`) the process sends itself
    SIGKILL `before` or `after` the AFTER-th `os.<CALL>`.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from kstreams.embedded.log import EmbeddedLog
from tests.kstreams.embedded.sample_tables import rows


def arm(call: str, moment: str, after: int) -> None:
    """Kill the process before or after a system call."""
    # pathlib has its own functions on Python 3.10
    owner = Path if call in ("unlink", "mkdir", "rename") else os
    real, left = getattr(owner, call), [after]

    def deadly(*args: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*args, **options)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, call, deadly)


def main() -> None:
    root, topic, producer, batches = sys.argv[1:5]
    log = EmbeddedLog(Path(root))
    log.ensure(topic, 1)
    if len(sys.argv) > 5:
        arm(sys.argv[5], sys.argv[6], int(sys.argv[7]))
    for batch in range(int(batches)):
        segment = log.append(
            topic, 0, rows(2 * batch, 2 * batch + 1), producer=producer, batch=batch
        )
        sys.stdout.write(f"{batch} {segment.first_offset}\n")
        sys.stdout.flush()
