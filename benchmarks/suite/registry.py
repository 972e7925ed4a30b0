"""Finds workloads and peers by name, or a workload in a file."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from pathlib import Path

import benchmarks.peers
import benchmarks.workloads
from benchmarks.suite.peer import Peer
from benchmarks.suite.workload import Workload

__all__ = ("UnknownName", "all_peers", "all_workloads", "peer_by", "workload_by")


class UnknownName(Exception):
    """There is no such workload or peer; the message lists the known names."""


def all_workloads() -> tuple[Workload, ...]:
    """Return the suite's own workloads by name, W before Q."""
    names = sorted(module.name for module in pkgutil.iter_modules(benchmarks.workloads.__path__))
    found = [_workload_of(importlib.import_module(f"benchmarks.workloads.{n}")) for n in names]
    return tuple(sorted(found, key=_place))


def _place(workload: Workload) -> tuple[bool, int, str]:
    number = "".join(filter(str.isdigit, workload.name))
    return not workload.name.startswith("W"), int(number), workload.name


def workload_by(name: str) -> Workload:
    """Return a workload by its name, or from a Python file.

    Raises:
        UnknownName: There is no workload of this name, or the file has no `WORKLOAD`.
    """
    if name.endswith(".py"):
        return _workload_in(Path(name))
    known = {workload.name.lower(): workload for workload in all_workloads()}
    if name.lower() not in known:
        raise UnknownName(
            f"no workload {name!r}; there are: {' '.join(w.name for w in known.values())}, "
            "or the path of a file that has a WORKLOAD"
        )
    return known[name.lower()]


def all_peers() -> tuple[Peer, ...]:
    """Return all peers, the library first."""
    found: list[Peer] = []
    for folder in _ORDER:
        found.extend(importlib.import_module(f"benchmarks.peers.{folder}.peer").PEERS)
    return tuple(found)


def peer_by(name: str) -> Peer:
    """Return a peer by its name.

    Raises:
        UnknownName: There is no peer of this name.
    """
    known = {peer.name: peer for peer in all_peers()}
    if name not in known:
        raise UnknownName(f"no peer {name!r}; there are: {' '.join(known)}")
    return known[name]


_ORDER = (
    "kstreams",
    "spark",
    "kafka_streams",
    "quix",
    "goka",
    "birdayz",
    "bytewax",
    "faust",
    "flink",
    "flink_java",
    "jet",
    "pathway",
    "limit",
)
"""Folders of peers in the order of the tables."""


def _workload_in(path: Path) -> Workload:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UnknownName(f"there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return _workload_of(module)


def _workload_of(module: object) -> Workload:
    found = getattr(module, "WORKLOAD", None)
    if not isinstance(found, Workload):
        raise UnknownName(f"{getattr(module, '__file__', module)} has no WORKLOAD")
    return found
