"""Errors of what is asked for, before anything runs: a topology, settings, plugins."""

from __future__ import annotations

from kstreams.errors.base import KStreamsError

__all__ = (
    "CompileError",
    "KafkaOptionsError",
    "PartitionCountError",
    "PluginError",
    "TopologyError",
    "UnknownNodeError",
)


class TopologyError(KStreamsError, ValueError):
    """The graph is wrong; `problems` lists every fault found, sorted.

    Raised by a bad call at the call, and by `TopologyBuilder.build`. Fix the topology.
    """

    def __init__(self, message: str, *, problems: tuple[str, ...] = (), hint: str = "") -> None:
        lines = "".join(f"\n  - {problem}" for problem in problems)
        super().__init__(f"{message}{lines}", hint=hint)
        self.problems = problems


class UnknownNodeError(TopologyError, KeyError):
    """A node is named that the topology does not have."""

    __str__ = KStreamsError.__str__


class PluginError(KStreamsError, LookupError):
    """A state backend or serde is not to be had by its name; give another, or install it."""


class CompileError(KStreamsError):
    """A valid topology cannot be run as asked: on this engine, or with these settings."""


class PartitionCountError(CompileError, ValueError):
    """Topics of one group differ in partition count or partitioner, or a count is out of bounds."""


class KafkaOptionsError(CompileError, ValueError):
    """Client options are wrong, or one of the two clients has no such thing.

    Attributes:
        option: The option's name; its value is never part of the error.
    """

    def __init__(self, message: str, *, option: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.option = option
