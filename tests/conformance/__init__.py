"""Runs conformance cases: Kafka Streams' own answers to random inputs.

A case with `rule_out` expects that, not Kafka's answer. In `ss_join-outer-11-282` it is corrected
here: "e" went out unmatched before its partner came, so it is in no pair, as in all other cases.
Where `rule` is `memory_edge`, `rule_out` is computed: see `tests.conformance.memory_edge`.
"""

from __future__ import annotations
