"""Errors of topologies, settings and plugins, raised before anything runs."""

from __future__ import annotations

from kstreams.errors.base import KStreamsError

__all__ = (
    "CompileError",
    "KafkaOptionsError",
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
