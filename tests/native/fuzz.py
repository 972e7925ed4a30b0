"""Fuzz the kernel under sanitizers: `make fuzz`, until it is interrupted or finds something."""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from itertools import count, islice
from pathlib import Path

from tests.native.fake_librdkafka import Fake
from tests.native.read_check import check_reading
from tests.native.sanitized_build import ROOT, NoSanitizerError, compiled
from tests.native.write_check import check_writing

_TELL_EACH = 5_000


def command(library: Path, *, seed: int, rounds: int | None) -> list[str]:
    """Return the command that runs a number of rounds, or endless rounds, under the sanitizers."""
    limit = [] if rounds is None else ["--rounds", str(rounds)]
    return [
        sys.executable,
        "-m",
        "tests.native.fuzz",
        "--library",
        str(library),
        "--seed",
        str(seed),
        *limit,
    ]


def run(library: Path, seed: int, rounds: int | None) -> None:
    """Run rounds, each with a separate seed, so that one can be repeated alone."""
    fake = Fake(library)
    for number in islice(count(seed), rounds):
        for check in (check_reading, check_writing):
            try:
                check(fake, random.Random(number))
            except AssertionError as exc:
                raise AssertionError(f"{check.__name__}, --seed {number} --rounds 1") from exc
            fake.forget()
        if rounds is None and number % _TELL_EACH == 0:
            _say(f"{number - seed} rounds, at seed {number}")


def _say(text: str) -> None:
    sys.stderr.write(f"fuzz: {text}\n")


def main() -> int:
    """Compile and fuzz, or fuzz a compiled library."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, help="of the first round; drawn where not given")
    parser.add_argument("--rounds", type=int, help="as many; without end where not given")
    parser.add_argument("--library", type=Path, help="compiled, the sanitizer loaded before")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 40) if given.seed is None else given.seed
    if given.library is not None:
        run(given.library, seed, given.rounds)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        try:
            library, environment = compiled(Path(folder))
        except NoSanitizerError as exc:
            sys.exit(f"fuzz: {exc}")
        _say(f"from seed {seed}")
        line = command(library, seed=seed, rounds=given.rounds)
        try:
            return subprocess.run(line, cwd=ROOT, env=environment, check=False).returncode
        except KeyboardInterrupt:
            return 0


if __name__ == "__main__":
    sys.exit(main())
