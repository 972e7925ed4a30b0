"""Each guard of the server holds, and its probe fails when the guard is removed.

The probes are in `access_probes.py` and `request_probes.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packages.kstreams_serve import access_probes as who_asks
from tests.packages.kstreams_serve import request_probes as what_is_asked
from tests.packages.kstreams_serve.guards import GUARDS


def test_each_security_guard_has_a_registered_probe() -> None:
    own = [name for module in (who_asks, what_is_asked) for name in vars(module)]
    assert {name for name in GUARDS if not name.startswith("limit_of_")} <= set(own)
    assert len(GUARDS) > 30


@pytest.mark.long
@pytest.mark.parametrize("name", GUARDS)
def test_probe_of_security_guard_passes_with_the_guard(name: str, tmp_path: Path) -> None:
    GUARDS[name].probe(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", GUARDS)
def test_probe_of_security_guard_fails_without_the_guard(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = GUARDS[name]
    monkeypatch.setattr(found.place, found.name, found.gone)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        found.probe(tmp_path)
