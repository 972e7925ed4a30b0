"""Errors of topologies, settings and plugins, raised before anything runs."""

from __future__ import annotations

from kstreams.errors.base import KStreamsError

__all__ = (
    "CompileError",
    "KafkaOptionsError",
    "LateResultsWarning",
    "LostChangesWarning",
    "OptionError",
    "PartitionCountError",
    "PluginError",
    "TopologyError",
    "UnknownNodeError",
)


class TopologyError(KStreamsError, ValueError):
    """The topology is invalid; `problems` lists all problems found, sorted.

    Raised by a builder method for invalid arguments, and by `TopologyBuilder.build`. Fix the
    topology.
    """

    def __init__(self, message: str, *, problems: tuple[str, ...] = (), hint: str = "") -> None:
        lines = "".join(f"\n  - {problem}" for problem in problems)
        super().__init__(f"{message}{lines}", hint=hint)
        self.problems = problems


class CompileError(KStreamsError):
    """A valid topology cannot run on this engine or with these settings."""


class OptionError(TopologyError, CompileError):
    """An option has an invalid value. The message lists the valid values."""


class UnknownNodeError(TopologyError, KeyError):
    """The topology does not have a node of this name."""

    __str__ = KStreamsError.__str__


class PluginError(KStreamsError, LookupError):
    """A plugin, such as a state backend, is not found by its name; fix the name or install it."""


class PartitionCountError(CompileError, ValueError):
    """Topics of a group differ in partition count or partitioner, or a count is out of bounds."""


class KafkaOptionsError(CompileError, ValueError):
    """Kafka client options are invalid, or one of the two clients does not have the option.

    Attributes:
        option: The option's name; its value is never part of the error.
    """

    def __init__(self, message: str, *, option: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.option = option


class LostChangesWarning(UserWarning):
    """A function of a topology changes an attribute or variable, and later batches lose the change.

    `TopologyBuilder.build` issues this warning. Keep lasting data in a store.

    Attributes:
        node: The node that calls the function.
        function: The qualified name of the function.
        change: The attribute or variable that the function changes.
    """

    def __init__(self, node: str, function: str, change: str) -> None:
        super().__init__(node, function, change)
        self.node = node
        self.function = function
        self.change = change

    def __str__(self) -> str:
        """Return the warning, with a hint."""
        return (
            f"node {self.node!r}: {self.function} changes {self.change}, and the change is lost "
            "between batches: a batch may run in another worker, or again\n"
            "Hint: keep it in a store, in a processor with stores=[...], or aggregate."
        )


class LateResultsWarning(UserWarning):
    """Windows, a stream join or `deduplicate` may treat results of other windows as late.

    `TopologyBuilder.build` issues this warning. Windows and joins drop late records, and
    `BatchReport.dropped` counts them; those of windows are in the output for late records.

    Attributes:
        node: The node that gets the results.
        above: The aggregation or `suppress` whose results are late.
        same_task: Whether both run in one task; otherwise, the results of several tasks meet.
        origin: The file and line that define the node; empty if they are not known.
    """

    def __init__(self, node: str, above: str, same_task: bool, origin: str = "") -> None:  # pickled
        super().__init__(node, above, same_task, origin)
        self.node = node
        self.above = above
        self.same_task = same_task
        self.origin = origin

    def __str__(self) -> str:
        """Return the warning, with a hint."""
        place = f" at {self.origin}" if self.origin else ""
        if self.same_task:
            return (
                f"node {self.node!r}{place} gets results of {self.above!r} in the same task: its "
                "stream time has passed the times of the results, so most of them are late\n"
                "Hint: put builder.repartition(...) between the nodes, or emit each_update()."
            )
        return (
            f"node {self.node!r}{place} gets results of {self.above!r} without a grace: each "
            "partition closes its windows by its own stream time, so the results of a slower "
            "partition are late\n"
            "Hint: give the node a grace of the longest delay between partitions. idle_timeout "
            "closes the windows of partitions without records."
        )
