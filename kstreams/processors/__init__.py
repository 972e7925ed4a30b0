"""Processors: the classes to derive from, their context, and ready building blocks.

Read `Processor` and `ProcessorContext` first. Depends on records, serdes, topics and
store definitions; not on the graph, nor on how a task runs.
"""

from __future__ import annotations
