"""Kafka: how to reach a cluster, and what to ask it.

Read `kstreams.kafka.options.Kafka` first, the settings that a user gives, then
`kstreams.kafka.admin.KafkaAdmin`. Needs the extra `kafka` where it talks to a
broker itself; depends on nothing of Spark.
"""

from __future__ import annotations
