"""A process that emits records one by one, and kills itself at a chosen system call.

`python emitting.py ROOT COUNT [CALL MOMENT AFTER]`: creates topic `t` with its first write, waits
until each record is durable, and then prints its number. CALL, MOMENT and AFTER are those of
`appender.py`; calls are counted from before the creation of the topic.
"""

from __future__ import annotations

import sys

from kstreams import INT64, TEXT, Embedded, Emitter, Topic
from tests.kstreams.embedded.appending_process import arm

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
