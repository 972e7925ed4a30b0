"""A process that emits records one by one, and kills itself at a chosen point.

`python emitting.py ROOT COUNT [CALL MOMENT AFTER]`: creates topic `t` by its first write,
waits for each record to be on the disk, and prints its number then. CALL, MOMENT and AFTER
are those of `appender.py`; calls count from before the topic is there.
"""

from __future__ import annotations

import sys

from kstreams import INT64, TEXT, Embedded, Emitter, Topic
from tests.kstreams.embedded.appender import arm

TOPIC = Topic("t", TEXT, INT64)


def main() -> None:
    root, count = sys.argv[1], int(sys.argv[2])
    if len(sys.argv) > 3:
        arm(sys.argv[3], sys.argv[4], int(sys.argv[5]))
    with Emitter(TOPIC, Embedded(root, default_partitions=1)) as emitter:
        for number in range(count):
            emitter.emit("k", number, timestamp=number)
            emitter.flush()
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
