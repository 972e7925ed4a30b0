"""Deletes the consumer groups that resets of the app have left, and prints their names.

The groups store which batch was published last, and their names begin with the app's id and the
checkpoint id. The groups of the present checkpoint stay, because the app needs them.
"""

from __future__ import annotations

import os
import sys

from confluent_kafka.admin import AdminClient
from count_words import TOPICS, topology

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.store_place import checkpoint_of
from kstreams.errors import KStreamsError


def main() -> None:
    app = topology.name
    try:
        present = Checkpoint.read(checkpoint_of(os.environ["CHECKPOINT"]))
        kept = f"{app}.{present.checkpoint_id}."
    except KStreamsError:  # there is no checkpoint after a reset
        kept = ""
    client = AdminClient({"bootstrap.servers": TOPICS.bootstrap})
    groups = [each.group_id for each in client.list_consumer_groups().result().valid]
    old = [each for each in groups if each.startswith(f"{app}.") and not (kept and kept in each)]
    for name, deleted in client.delete_consumer_groups(old).items() if old else ():
        deleted.result()
        sys.stdout.write(f"deleted {name}\n")


if __name__ == "__main__":
    main()
