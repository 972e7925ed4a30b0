"""Free ports for servers of tests."""

from __future__ import annotations

from devtools.servers.ports import free_ports


def test_free_ports_called_again_returns_other_ports() -> None:
    assert not set(free_ports(3)) & set(free_ports(3))
