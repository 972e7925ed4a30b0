"""Creates and checks the topics of changelogs, before an app's first batch."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Protocol, runtime_checkable

from kstreams.connection import Connection, TopicAdmin, TopicEnds
from kstreams.errors import PartitionCountError, TopicExistsError
from kstreams.graph.topology import Topology
from kstreams.state.stores.spec import StoreSpec

__all__ = ("open_changelogs",)

_LOG = logging.getLogger(__name__)


class _Described(Protocol):
    @property
    def config(self) -> Mapping[str, str]: ...


@runtime_checkable
class _DescribesTopics(Protocol):
    """A `TopicAdmin` that also returns the settings of a topic, such as that of Kafka."""

    def describe(self, topic: str) -> _Described: ...


def open_changelogs(
    connection: Connection, topology: Topology, tasks: Mapping[str, int]
) -> dict[str, TopicEnds]:
    """Create missing changelog topics; return the end of each changelog, by store.

    Args:
        connection: The connection of the topics.
        topology: The topology whose stores have changelogs.
        tasks: The number of the topology's tasks, by group.

    Raises:
        PartitionCountError: A topic has another number of partitions than its store has tasks.
    """
    logged = [
        (spec, tasks[group.name])
        for group in topology.groups
        for spec in group.stores
        if spec.changelog is not None
    ]
    if not logged:
        return {}
    with closing(connection.admin()) as admin:
        return {spec.name: _opened(admin, spec, count) for spec, count in logged}


def _opened(admin: TopicAdmin, spec: StoreSpec[Any], count: int) -> TopicEnds:
    topic, store, config = str(spec.changelog), spec.name, spec.changelog_form().config
    try:
        admin.create(topic, count, config=config)
    except TopicExistsError:
        found = admin.partition_count(topic)
        if found != count:
            raise PartitionCountError(
                f"changelog topic {topic!r} has {found} partitions, but store {store!r} has "
                f"{count} tasks",
                hint="each task writes to its own partition: create the topic with as many "
                "partitions as tasks, or let the app create the topic.",
            ) from None
        _warn_unless_compacted(admin, topic)
    else:
        _LOG.info("created changelog topic %r of store %r", topic, store)
    return admin.ends(topic)


def _warn_unless_compacted(admin: TopicAdmin, topic: str) -> None:
    """Warn of an existing Kafka topic that deletes records, because a restore would miss them."""
    if not isinstance(admin, _DescribesTopics):
        return
    policy = admin.describe(topic).config.get("cleanup.policy", "")
    if policy != "compact":
        _LOG.warning(
            "changelog topic %r has cleanup.policy=%s: it deletes records that a restore needs; "
            "set it to compact",
            topic,
            policy,
        )
