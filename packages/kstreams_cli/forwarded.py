"""The option that names trusted proxies."""

from __future__ import annotations

from typing import Annotated

import typer

from kstreams_cli.usage import WrongUsageError
from kstreams_serve.forwarded import TrustedProxies

__all__ = ("ForwardedOption", "networks_of")

_OPTION = "--forwarded-allow-ips"

ForwardedOption = Annotated[
    str | None,
    typer.Option(
        _OPTION,
        metavar="NETWORKS",
        help="Addresses and networks of trusted proxies, separated by commas, such as "
        "10.0.0.7,10.1.0.0/16. Requests from them have the client address of their header "
        "X-Forwarded-For.",
        show_default="the header is ignored",
    ),
]
"""The option with the trusted proxies."""


def networks_of(given: str | None) -> tuple[str, ...]:
    """Parse the value of the option, and return the networks; none without a value.

    Raises:
        WrongUsageError: An item is neither an address nor a network.
    """
    found = () if given is None else tuple(text.strip() for text in given.split(","))
    try:
        TrustedProxies(found)
    except ValueError as exc:
        raise WrongUsageError(str(exc), _OPTION) from exc
    return found
