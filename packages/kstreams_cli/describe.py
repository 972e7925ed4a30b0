"""`kstreams describe`: a topology as text or as a diagram, without Spark."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from kstreams.graph.topology import Topology
from kstreams_cli.consoles import stderr, stdout
from kstreams_cli.loading import load_topology
from kstreams_cli.packages import PackageOption, shown_packages
from kstreams_cli.usage import WrongUsageError, for_option

__all__ = ("DiagramFormat", "TargetArgument", "describe")

_NODE = r"(?m)^ *(?P<bold>\w+:) (?P<cyan>\S+)(?P<dim> \(.*\))?$"
_ARROW = r"(?m)^ *(?P<green>-->|<--)"
"""A pattern for parts of the output; its groups are named after the styles of the parts."""

TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODULE:NAME",
        help="A Topology, a TopologyBuilder, or a function that returns one of these. :NAME is "
        "optional if the module has only one. Modules in the current directory can be imported.",
        show_default=False,
    ),
]


class DiagramFormat(str, Enum):
    """The output format of a topology."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"


def describe(
    target: TargetArgument,
    output: Annotated[
        DiagramFormat,
        typer.Option("--format", help="Output format: text, Mermaid or DOT (Graphviz)."),
    ] = DiagramFormat.TEXT,
    file: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write, instead of standard output.",
            show_default=False,
        ),
    ] = None,
    packages: Annotated[
        bool,
        typer.Option(
            "--packages",
            help="Show the files that a run sends to executors on a cluster, and the files that "
            "it excludes, instead of the topology.",
        ),
    ] = False,
    package: PackageOption = None,
) -> None:
    """Show a topology: groups, nodes, edges and stores.

    Use it to check a topology before its first run, or to draw it. The command does not start
    Spark.

    Example:
        kstreams describe word_count:topology
        kstreams describe word_count.py:build --format dot | dot -Tsvg > topology.svg
        kstreams describe word_count --format mermaid --output topology.mmd
        kstreams describe word_count --packages
    """
    with for_option("MODULE:NAME"):
        topology = load_topology(target)
    text = shown_packages(package) if packages else _drawn(topology, output)
    if file is not None:
        try:
            file.write_text(text, encoding="utf-8")
        except OSError as exc:
            raise WrongUsageError(f"cannot write {file}: {exc.strerror}", "--output") from exc
        stderr().print(f"Wrote [bold]{file}[/].")
        return
    console = stdout()
    if packages or output is not DiagramFormat.TEXT or not console.is_terminal:
        print(text, end="")
        return
    styled = Text(text, end="")
    for pattern in (_NODE, _ARROW):
        styled.highlight_regex(pattern)
    console.print(styled, soft_wrap=True)


def _drawn(topology: Topology, output: DiagramFormat) -> str:
    match output:
        case DiagramFormat.TEXT:
            return topology.describe()
        case DiagramFormat.MERMAID:
            return topology.to_mermaid()
        case DiagramFormat.DOT:
            return topology.to_dot()
