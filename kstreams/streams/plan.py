"""The plan of a topology: steps that wait for the build, names of state, and problems."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from kstreams.call_site import CallSite
from kstreams.errors import TopologyError
from kstreams.graph.building.builder import TopologyBuilder
from kstreams.graph.topology import Topology
from kstreams.streams.serdes import Serdes

__all__ = ("FreeName", "Plan", "Step", "call_of")

T_co = TypeVar("T_co", covariant=True)
"""The type of a builder's handle."""

_LIBRARY = str(Path(__file__).parents[1]) + os.sep


def call_of(operation: str, shown: str) -> str:
    """Return a call of the user's code with its file and line: `map_values(price) at shop.py:12`.

    Args:
        operation: The name of the method.
        shown: The arguments to show.
    """
    return f"{operation}({shown}) at {_call_site()}"


def _call_site() -> CallSite:
    """Return the file and line of the call of the user's code that leads here."""
    frame = sys._getframe(1)  # the only way to the caller that costs nothing
    while frame.f_code.co_filename.startswith(_LIBRARY) and frame.f_back is not None:
        frame = frame.f_back
    return CallSite(Path(frame.f_code.co_filename).name or "?", max(frame.f_lineno, 1))


class Step(Generic[T_co]):
    """A postponed call of the builder; the build runs it, once for each builder.

    The nodes that it adds have the user's call as their origin.
    """

    def __init__(self, plan: Plan, make: Callable[[], T_co]) -> None:
        self._plan = plan
        self._make = make
        self._origin = _call_site()

    def __call__(self) -> T_co:
        """Return the handle of the node; the first call creates the node."""
        made = self._plan.made
        if self not in made:
            with self._plan.builder.origin(self._origin):
                made[self] = self._make()
        return cast("T_co", made[self])


class FreeName:
    """The name of a node without state; the build chooses it, when all other names are known."""

    def __init__(self, plan: Plan, name: str) -> None:
        self._text = Step(plan, lambda: plan.unique(name))

    def __str__(self) -> str:
        """Return the name."""
        return self._text()


@dataclass
class Plan:
    """The steps of a topology.

    Attributes:
        builder: The builder of the topology.
        serdes: The serdes by type.
        make_builder: Creates an empty builder of the topology, for `preview`.
        made: The handles that steps have created at the builder.
        unused: The call of each stream that nothing uses.
        global_stores: The stores of global tables, which every task can read.
    """

    builder: TopologyBuilder
    serdes: Serdes
    make_builder: Callable[[], TopologyBuilder]
    made: dict[Step[Any], Any] = field(default_factory=dict)
    unused: dict[object, str] = field(default_factory=dict)
    global_stores: list[object] = field(default_factory=list)
    _steps: list[Step[Any]] = field(default_factory=list)
    _owners: dict[str, str] = field(default_factory=dict)
    _taken: dict[str, int] = field(default_factory=dict)
    _problems: list[str] = field(default_factory=list)

    def later(self, make: Callable[[], T_co]) -> Step[T_co]:
        """Add a step; the steps run in the order of the calls of this method."""
        step = Step(self, make)
        self._steps.append(step)
        return step

    def owned(self, name: str, call: str) -> str:
        """Reserve the name of a store or of a node with state, and return it.

        If the name is reserved already, record a problem of the build, and return another name.

        Args:
            name: The name.
            call: The user's call that needs the name, for the text of the problem.
        """
        if name in self._owners:
            self._problems.append(
                f"{name!r} would be the name of {self._owners[name]} and of {call}: use one stream "
                "for both, or give one of them another name, with .named(...) before the call or "
                "store='...'"
            )
        found, number = name, 1
        while found in self._owners:  # the builder need not report the problem again
            number += 1
            found = f"{name}-{number}"
        self._owners[found] = call
        return found

    def free(self, name: str) -> FreeName:
        """Return the name of a node without state; the build adds a number if others have it."""
        return FreeName(self, name)

    def unique(self, name: str) -> str:
        """Return a name that no other node of the builder has."""
        number = self._taken.get(name, 1 if name in self._owners else 0)
        while True:
            number += 1
            found = name if number == 1 else f"{name}-{number}"
            if found not in self._owners and found not in self._taken:
                self._taken |= {found: 1, name: number}
                return found

    def build(self) -> Topology:
        """Run the steps, and build the topology.

        Raises:
            TopologyError: With all problems of the plan and of the builder.
        """
        for step in tuple(self._steps):
            step()
        problems = [*self._problems, *map(_unused, self.unused.values())]
        try:
            topology = self.builder.build()
            if not problems:
                return topology
        except TopologyError as exc:
            problems += exc.problems or (exc.message,)
        unique = tuple(sorted(set(problems)))
        count = f"{len(unique)} problem{'' if len(unique) == 1 else 's'}"
        raise TopologyError(f"topology {self.builder.name!r} has {count}:", problems=unique)

    def preview(self) -> Topology | TopologyError:
        """Build the steps so far with a separate builder; unused streams are no problem."""
        kept = self.builder, self.made, self.unused, self._taken
        self.builder, self.made, self.unused, self._taken = self.make_builder(), {}, {}, {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self.build()
        except TopologyError as exc:
            return exc
        finally:
            self.builder, self.made, self.unused, self._taken = kept

    def picture(self) -> dict[str, str]:
        """Return the topology so far as text and as a Mermaid diagram, by MIME type."""
        found = self.preview()
        if isinstance(found, Topology):
            return found._repr_mimebundle_()  # the protocol of notebooks
        return {"text/plain": str(found)}


def _unused(call: str) -> str:
    return (
        f"nothing uses the result of {call}: a method returns a new stream and does not change "
        f"its own stream, so assign the result, or write it with .to(...)"
    )
