"""Print the first errors of some log files, then stop: a bounded source and a limit.

python examples/first_errors.py
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from kstreams import TEXT, App, Topology, TopologyBuilder, filter_
from kstreams.operators import limit
from kstreams.sources import Lines, bounded, folder
from kstreams.topology import to_stdout


def is_error(_: None, line: str) -> bool:
    return "ERROR" in line


def first_errors(logs: Path, at_most: int) -> Topology:
    builder = TopologyBuilder("first-errors")
    lines = builder.add_source("lines", bounded(folder("logs", logs, Lines(TEXT))))
    errors = builder.add_processor("errors", filter_(is_error), lines)
    builder.add_sink("shown", to_stdout(), builder.add_processor("first", limit(at_most), errors))
    return builder.build()


if __name__ == "__main__":
    with TemporaryDirectory(prefix="kstreams-example-") as place:
        logs = Path(place, "logs")
        logs.mkdir()
        for day in (1, 2):
            hours = (
                f"{hour}:00 {'ERROR' if hour % 3 == day else 'info'}" for hour in range(10, 18)
            )
            Path(logs, f"day-{day}.txt").write_text("".join(f"{day}.7. {hour}\n" for hour in hours))
        # The limit of 4 ends this run, the end of the files ends the next one.
        App(first_errors(logs, 4), checkpoint=Path(place, "app")).run()
        print("and the others:")
        App(first_errors(logs, 100), checkpoint=Path(place, "app")).run()
