"""Empties the results of `count_words.py` and resets the app, while the app does not run.

The next run counts all lines again.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import closing

import psycopg
import set_up
from count_words import TOPICS, TOTALS, topology


def main() -> None:
    with closing(TOPICS.admin()) as admin:
        admin.delete(TOTALS.name)
    with psycopg.connect(os.environ["POSTGRES"]) as database:
        database.execute("TRUNCATE totals")
    set_up.main()
    place = ("--checkpoint", os.environ["CHECKPOINT"])
    subprocess.run(["kstreams", "reset", topology.name, *place, "--yes"], check=True)


if __name__ == "__main__":
    main()
