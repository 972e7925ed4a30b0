"""goka, with its default storage and changelog."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.durability import Durability
from benchmarks.suite.environment import step
from benchmarks.suite.peer import Command, Format, Job, Timestamps, Unavailable
from benchmarks.suite.workload import Workload

__all__ = ("PEERS",)

VERSION = "v1.1.14"
_MODULE = "github.com/lovoo/goka"
_SOURCES = tuple(Path(__file__).with_name(f"{name}.go") for name in ("main", "murmur2"))
_DURABILITY = Durability("at-least-once", "1 s", "LevelDB, changelog topic")


@dataclass(frozen=True)
class Goka:
    """goka; there is only one configuration."""

    name: str = "goka"
    format: Format = "decimal"
    timestamps: Timestamps = "none"
    reports_progress: bool = False
    emits_updates: bool = True
    most_records: int | None = None
    durability: Durability = _DURABILITY

    @property
    def title(self) -> str:
        return f"goka {VERSION} (Go), LevelDB, emits every update"

    def refusal(self, workload: Workload) -> str | None:
        if workload.name in ("W2", "W7"):
            return None
        return "goka has no windows" if workload.name[0] == "W" else "not written for goka"

    def install(self, cache: Path) -> None:
        if shutil.which("go") is None:
            raise Unavailable("the Go command `go` is not on PATH")
        folder = _folder(cache)
        built = folder / "bench"
        if built.exists() and all(_same(source, folder / source.name) for source in _SOURCES):
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for source in _SOURCES:
            shutil.copy(source, folder)
        variables = {**os.environ, "GOFLAGS": "-mod=mod"}
        step(["go", "mod", "init", "bench"], folder, variables)
        step(["go", "get", f"{_MODULE}@{VERSION}"], folder, variables)
        step(["go", "build", "-o", "bench", "."], folder, variables)

    def command(self, job: Job, cache: Path) -> Command:
        return Command((str(_folder(cache) / "bench"),))


def _same(source: Path, copied: Path) -> bool:
    return copied.is_file() and copied.read_bytes() == source.read_bytes()


def _folder(cache: Path) -> Path:
    return cache / "peers" / f"goka-{VERSION}"


PEERS = (Goka(),)
