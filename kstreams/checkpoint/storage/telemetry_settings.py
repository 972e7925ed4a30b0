"""What an app tells of itself, and how much that may cost: the settings."""

from __future__ import annotations

from dataclasses import dataclass

from kstreams.errors import CompileError

__all__ = ("Telemetry",)

_MOST_HZ = 1_000


@dataclass(frozen=True)
class Telemetry:
    """What an app tells those who watch it, beside its counts, which are part of its commits.

    `Telemetry(files=False, sample_hz=0)` is nothing.

    Args:
        files: Whether it writes files into the folder `telemetry` of its checkpoint: what it is
            doing, reports of its batches, its topology and its last failures. No key and no value
            is in them. `kstreams serve` and its pages read them.
        sample_hz: How often a second workers look which node is running, for each node's share of
            the time; 0: never.
        otel: Whether it tells OpenTelemetry's API, in the driver, of batches and what they took;
            for that the extra `otel` is needed, and an SDK that the program sets up.
        texts: Whether messages of errors are written down that may quote a record, as those of
            the user's own code may. Without it their class and place are.

    Raises:
        CompileError: `sample_hz` is out of range.
    """

    files: bool = True
    sample_hz: int = 50
    texts: bool = False
    otel: bool = False

    def __post_init__(self) -> None:
        """Check the range."""
        if not 0 <= self.sample_hz <= _MOST_HZ:
            raise CompileError(f"sample_hz is from 0 to {_MOST_HZ}, not {self.sample_hz}")

    @property
    def measures(self) -> bool:
        """Tell whether workers measure what somebody will read."""
        return self.files or self.otel
