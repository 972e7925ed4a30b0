"""The topics of changelogs, before an app's first batch."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kstreams.connection import Connection, TopicAdmin
from kstreams.errors import PartitionCountError, TopicExistsError
from kstreams.graph.topology import Topology
from kstreams.state.changelog.forms import changelog_form

__all__ = ("open_changelogs",)

_LOG = logging.getLogger("kstreams")


def open_changelogs(
    connection: Connection, topology: Topology, tasks: Mapping[str, int]
) -> dict[str, tuple[int, ...]]:
    """Create the changelog topics that are missing; return where each ends, by store.

    Args:
        connection: Where topics live.
        topology: What is to run.
        tasks: Number of its tasks by group.

    Raises:
        PartitionCountError: A topic has not as many partitions as its store has tasks.
    """
    logged = [
        (spec, tasks[group.name])
        for group in topology.groups
        for spec in group.stores
        if spec.changelog is not None
    ]
    if not logged:
        return {}
    admin = connection.admin()
    try:
        return {
            spec.name: _opened(
                admin, str(spec.changelog), count, spec.name, changelog_form(spec).config
            )
            for spec, count in logged
        }
    finally:
        admin.close()


def _opened(
    admin: TopicAdmin, topic: str, count: int, store: str, config: Mapping[str, str]
) -> tuple[int, ...]:
    try:
        admin.create(topic, count, config=config)
        _LOG.info("created changelog topic %r of store %r", topic, store)
    except TopicExistsError:
        found = admin.partition_count(topic)
        if found != count:
            raise PartitionCountError(
                f"changelog topic {topic!r} has {found} partitions, store {store!r} {count} tasks",
                hint="each task writes to its own partition: let the app create the topic",
            ) from None
    return tuple(end for _, end in sorted(admin.end_offsets(topic).items()))
