"""
Bring onto this machine what tests would download: the broker's jars.

A download takes as long as the network does, which no test's time limit should hold.
Done before, it costs 0.1 s::

    python -m devtools.servers.fetch
"""

from __future__ import annotations

import sys

from devtools.servers.kafka import broker_jars


def main() -> None:
    """Fetch, and say what is there."""
    sys.stdout.write(f"{len(broker_jars())} jars of Kafka are on this machine\n")


if __name__ == "__main__":
    main()
