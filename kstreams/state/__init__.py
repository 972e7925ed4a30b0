"""State: what a task keeps between micro-batches.

Two parts, each a contract on bytes: a `WorkingStore` (`kstreams.state.backend.working`) that a
task reads and writes, and an `ObjectStore` (`kstreams.state.backend.objects`) that makes each
version durable. Typed stores sit on the `Overlay`, the write-back cache of one attempt.
"""

from __future__ import annotations
