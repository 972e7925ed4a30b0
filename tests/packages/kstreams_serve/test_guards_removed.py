"""Each guard of the server holds, and its probe fails when the guard is removed.

The probes are in `access_probes.py` and `request_probes.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packages.kstreams_serve import access_probes as who_asks
from tests.packages.kstreams_serve import request_probes as what_is_asked
from tests.packages.kstreams_serve.guards import GUARDS


def test_all_guard_probes_are_registered() -> None:
    own = [name for module in (who_asks, what_is_asked) for name in vars(module)]
    assert {name for name in GUARDS if not name.startswith("limit_of_")} <= set(own)
    assert len(GUARDS) > 30


@pytest.mark.long
@pytest.mark.parametrize("name", GUARDS)
def test_security_guard_passes_its_probe(name: str, tmp_path: Path) -> None:
    GUARDS[name].probe(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", GUARDS)
def test_security_probe_fails_without_its_guard(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = GUARDS[name]
    monkeypatch.setattr(found.place, found.name, found.gone)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        found.probe(tmp_path)
