"""Addresses of clients behind proxies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from kstreams.quoting import repr_of

__all__ = ("TrustedProxies",)

_Address = IPv4Address | IPv6Address


class TrustedProxies:
    """Proxies whose `X-Forwarded-For` is believed.

    Each proxy appends the address that has connected to it. The client's address is the
    rightmost one that is not a trusted proxy; addresses to its left may be forged by the client.

    Args:
        networks: Addresses and networks of the proxies, such as `10.0.0.7` or `10.0.0.0/8`.

    Raises:
        ValueError: An item is neither an address nor a network.

    Source: `--forwarded-allow-ips` of uvicorn and gunicorn, without the `*` that trusts everyone.
    """

    def __init__(self, networks: Sequence[str]) -> None:
        self._networks = tuple(_network(text) for text in networks)

    def client_of(self, peer: str, forwarded: Iterable[str]) -> str:
        """Return the address of the client.

        Args:
            peer: The address that has connected to this server.
            forwarded: The values of `X-Forwarded-For`, in their order.
        """
        if not self._networks or not self._trusts(_address(peer)):
            return peer
        found = peer
        for hop in reversed([hop for value in forwarded for hop in value.split(",")]):
            address = _address(hop.strip())
            if address is None:
                break  # no address: the last proxy is the nearest that is known
            found = str(address)
            if not self._trusts(address):
                break
        return found

    def _trusts(self, address: _Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError as exc:
        raise ValueError(f"{repr_of(text, 40)} is neither an address nor a network: {exc}") from exc


def _address(text: str) -> _Address | None:
    """Parse an address with or without a port; None if the text is not an address."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found
