"""The connection of a command's topics: embedded topics or Kafka."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from kstreams.connection import Connection
from kstreams.embedded.connection import Embedded
from kstreams.errors import CompileError, KStreamsError
from kstreams_cli.consoles import stderr
from kstreams_cli.pairs import pairs_of, read_pairs
from kstreams_cli.usage import WrongUsageError

__all__ = (
    "BootstrapOption",
    "DataOption",
    "OptionOption",
    "OptionsFileOption",
    "Place",
    "find_place",
)

_PANEL = "Topics"
_DATA = "KSTREAMS_DATA"
_BOOTSTRAP = "KSTREAMS_BOOTSTRAP"
_OPTIONS = "KSTREAMS_OPTIONS"

DataOption = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help=f"Directory of embedded topics (environment variable: {_DATA}).",
        show_default="./data",
        rich_help_panel=_PANEL,
    ),
]
BootstrapOption = Annotated[
    str | None,
    typer.Option(
        "--bootstrap",
        metavar="HOST:PORT",
        help="Bootstrap brokers of a Kafka cluster, separated by commas; use this option for "
        f"topics on Kafka (environment variable: {_BOOTSTRAP}).",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
OptionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="Kafka client option by its librdkafka name, such as security.protocol=SSL. Can be "
        "repeated. Other users can list command lines: use --options-file for passwords.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
OptionsFileOption = Annotated[
    Path | None,
    typer.Option(
        "--options-file",
        metavar="FILE",
        help="File with Kafka client options, one NAME=VALUE per line. Passwords in the file are "
        "never printed. --option overrides the file. The environment variable "
        f"{_OPTIONS}, a JSON object, has options for the brokers of {_BOOTSTRAP}.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]


@dataclass(frozen=True)
class Place:
    """A connection of topics, with its label for messages.

    Attributes:
        connection: `Embedded(...)` or `Kafka(...)`.
        label: The name of the connection in messages, without secrets.
        is_kafka: Whether it is a Kafka cluster.
    """

    connection: Connection
    label: str
    is_kafka: bool

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that give another command this connection.

        Client options among them may be secret.
        """
        if isinstance(self.connection, Embedded):
            return {_DATA: str(self.connection.root), _BOOTSTRAP: "", _OPTIONS: ""}
        from kstreams_kafka.options import Kafka  # noqa: PLC0415  # only where Kafka is in use

        options = self.connection.options if isinstance(self.connection, Kafka) else {}
        return {_DATA: "", _BOOTSTRAP: self.label, _OPTIONS: json.dumps(dict(options))}

    def exactly_once(self) -> Place:
        """Return this connection of topics with exactly-once delivery.

        Embedded topics always have it; their `Place` is returned unchanged.
        """
        if isinstance(self.connection, Embedded):
            return self
        from kstreams_kafka.options import Kafka  # noqa: PLC0415  # only where Kafka is in use

        if not isinstance(self.connection, Kafka):
            return self
        return replace(self, connection=replace(self.connection, delivery="exactly-once"))

    def missing_topic_hint(self, name: str) -> str:
        """Return a hint: the most similar existing topic, and the command to create the topic."""
        near: list[str] = []
        with suppress(KStreamsError), closing(self.connection.admin()) as admin:
            near = get_close_matches(name, admin.topics(), n=1)
        meant = f"did you mean {near[0]!r}? If not, create it: " if near else "create it: "
        where = f"--bootstrap {self.label}" if self.is_kafka else f"--data {self.label}"
        return f"{meant}`kstreams topics create {name} --partitions 4 {where}`."

    def config(self, topic: str) -> Mapping[str, str]:
        """Return a topic's settings by name, or raise `UnknownTopicError`."""
        if isinstance(self.connection, Embedded):
            return self.connection.log().topic(topic).config
        from kstreams_kafka.options import Kafka  # noqa: PLC0415  # only where Kafka is in use

        if isinstance(self.connection, Kafka):
            return self.connection.admin().describe(topic).config
        return {}


def find_place(
    data: str | None,
    bootstrap: str | None,
    options: Sequence[str] | None,
    options_file: Path | None,
    environment: Mapping[str, str] = os.environ,
) -> Place:
    """Return the connection of topics from options, else the environment, else `./data`.

    Raises:
        WrongUsageError: Two connections are given, or client options without a Kafka cluster.
    """
    known: Mapping[str, str] = {}
    if data is None and bootstrap is None:
        data, bootstrap = environment.get(_DATA), environment.get(_BOOTSTRAP)
        if bootstrap:  # they are for those brokers, and no others
            known = _known_options(environment.get(_OPTIONS) or "{}")
        both = f"{_DATA} and {_BOOTSTRAP} are both set: give --data or --bootstrap"
    else:
        both = "give --data (embedded topics) or --bootstrap (Kafka), not both"
    if data and bootstrap:
        raise WrongUsageError(both, "--data / --bootstrap")
    if bootstrap:
        return _kafka(bootstrap, options, options_file, known)
    if options or options_file:
        raise WrongUsageError(
            "embedded topics have no client options; give --bootstrap for Kafka",
            "--option / --options-file",
        )
    return _embedded(data or "data")


def _embedded(root: str) -> Place:
    try:
        return Place(Embedded(root), root, is_kafka=False)
    except ValueError as exc:
        raise WrongUsageError(str(exc), "--data") from exc


def _known_options(text: str) -> Mapping[str, str]:
    """Parse the client options in the text of an environment variable, which is a JSON object.

    Errors omit the text, because it may contain secrets.
    """
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise WrongUsageError(
            f"the environment variable {_OPTIONS} is not a JSON object",
            "--option / --options-file",
        )
    return found


def _kafka(
    bootstrap: str,
    options: Sequence[str] | None,
    options_file: Path | None,
    known: Mapping[str, str],
) -> Place:
    from kstreams_kafka.client_options import is_secret  # noqa: PLC0415  # likewise
    from kstreams_kafka.options import Kafka  # noqa: PLC0415  # only where Kafka is in use

    found = dict(known)
    if options_file:
        found |= read_pairs(options_file, "--options-file")
    given = pairs_of(options or (), "--option")
    if named := ", ".join(sorted(filter(is_secret, given))):
        stderr().print(
            f"[yellow]Other users of this machine can read {escape(named)} in the list of "
            "processes. Use --options-file instead.[/]"
        )
    found |= given
    try:
        return Place(Kafka(bootstrap, found), bootstrap, is_kafka=True)
    except CompileError as exc:
        raise WrongUsageError(str(exc), "--bootstrap / --option") from exc
