"""Conformance cases: random inputs and the results of Kafka Streams for them.

A case with `rule_out` expects those results instead of Kafka's results. `ss_join-outer-11-282` is
corrected here: "e" was emitted unmatched before its partner arrived, so it is in no pair, as in all
other cases. Where `rule` is `memory_edge`, `rule_out` is computed: see
`tests.conformance.memory_edge`.
"""

from __future__ import annotations
