"""Kafka: the settings of a cluster's clients, readers, writers and administration.

Read `kstreams_kafka.options.Kafka` first, the settings that a user gives, then
`kstreams_kafka.admin.KafkaAdmin`. Modules that connect to a broker need the extra `kafka`. The
package does not depend on Spark.
"""

from __future__ import annotations
