"""Builds the image and tries it: `make image-check`.

    python -m devtools.image

Docker builds the image if it answers. Otherwise, Buildah runs the same Dockerfile without a daemon,
in a base image that mmdebstrap makes of Debian's packages; this needs root, and
`apt-get install buildah mmdebstrap`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from devtools.image.builders import ImageError, builder
from devtools.image.trials import TRIALS


def main() -> int:
    """Build the image, and print the result of each trial."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="kstreams-image-") as scratch:
        try:
            made = builder(Path(scratch))
            _say(f"building with {made.name}")
            image = made.build()
        except ImageError as exc:
            _say(f"error: {exc}")
            return 1
        try:
            for trial in TRIALS:
                problem = trial(image)
                failed += bool(problem)
                title = trial.__name__.replace("_", " ")
                _say(f"{title}: {problem or 'yes'}")
        finally:
            image.remove()
    return 1 if failed else 0


def _say(line: str) -> None:
    sys.stdout.write(f"image: {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
