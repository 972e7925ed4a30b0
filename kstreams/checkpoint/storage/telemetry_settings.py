"""The settings of an app's telemetry: files, samples, OpenTelemetry and error texts."""

from __future__ import annotations

from dataclasses import dataclass

from kstreams.errors import CompileError

__all__ = ("Telemetry",)

_MOST_HZ = 1_000


@dataclass(frozen=True)
class Telemetry:
    """The telemetry of an app, in addition to its counts, which are part of its commits.

    `Telemetry(files=False, sample_hz=0)` disables it.

    Args:
        files: Whether to write files to the folder `telemetry` of the checkpoint: the current
            activity, reports of batches, the topology and the last failures. They contain no keys
            and no values. `kstreams serve` and its pages read them.
        sample_hz: The number of times per second that workers sample the running node, to measure
            each node's share of the time; 0 disables sampling.
        otel: Whether to report batches and their durations to the OpenTelemetry API, on the driver;
            needs the extra `otel`, and an SDK that the program configures.
        texts: Whether to write error messages that may quote a record, such as those of user code.
            If False, only the class and location of errors are written.

    Raises:
        CompileError: `sample_hz` is out of range.
    """

    files: bool = True
    sample_hz: int = 50
    texts: bool = False
    otel: bool = False

    def __post_init__(self) -> None:
        """Check that `sample_hz` is in range."""
        if not 0 <= self.sample_hz <= _MOST_HZ:
            raise CompileError(f"sample_hz is {self.sample_hz}, expected 0 to {_MOST_HZ}")

    @property
    def measures(self) -> bool:
        """Return whether any telemetry needs the measurements of workers."""
        return self.files or self.otel
