"""`kstreams new`: create a project with a topology that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from kstreams_cli.consoles import stderr, stdout
from kstreams_cli.project_files import create_project, package_of

__all__ = ("new",)


def new(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Name of the project, which is also the name of its directory and of the "
            "topology: lowercase letters, digits and single hyphens. The Python package has "
            "underscores instead of hyphens.",
            show_default=False,
        ),
    ],
) -> None:
    """Create a project: a typed topology, its tests, and the files around them.

    Use it to start an app. The project sums the orders of each customer, and has a package with
    the topology, tests with the test driver, pyproject.toml, a CI workflow, compose.yaml with a
    Kafka broker, and a README with the next steps. Its tests pass and the app runs at once,
    without a broker, Spark or Java. The command never writes to an existing directory.

    Example:
        kstreams new shop
        cd shop && python -m pytest
        python -m shop.sample
        kstreams run shop.topology --engine embedded --until end
    """
    directory = Path.cwd() / name
    files = create_project(name, directory)
    for file in files:
        stdout().print(escape(f"{name}/{file}"), soft_wrap=True, highlight=False)
    package = package_of(name)
    stderr().print(f"[green]✓[/] Created {escape(name)}. Try it:")
    for command in (
        f"cd {name}",
        "python -m pytest",
        f"python -m {package}.sample",
        f"kstreams run {package}.topology --engine embedded --until end",
        f"kstreams state get {name} totals ann",
    ):
        stderr().print(f"  [dim]$[/] [cyan]{escape(command)}[/]", soft_wrap=True)
