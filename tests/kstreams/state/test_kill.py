"""A process is killed during a commit; the last pointer remains valid."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from kstreams.state.backend.task_key import new_attempt
from kstreams.state.log.durable import Attempt
from kstreams.state.log.pointer import Pointer
from tests.support.processes import committing_process as committer
from tests.support.processes.forked_programs import Forked

_KILLS = 10
_Model = dict[str, dict[bytes, bytes]]


def _model(version: int) -> _Model:
    model: _Model = {"a": {}, "b": {}}
    for number in range(1, version + 1):
        for store, changed in committer.changes(number).items():
            for key, value in changed.pairs:
                if value is None:
                    model[store].pop(key, None)
                else:
                    model[store][key] = value
    return model


def _commit_until_killed(backend: str, root: Path, pointer: Pointer, random: Random) -> Pointer:
    """Run the committer, kill it, and return the last pointer it printed."""
    with Forked(committer.main, backend, str(root), pointer.to_json()) as process:
        assert process.stdout.readline() == "ready\n"
        lines = [process.stdout.readline() for _ in range(random.randrange(4))]
        time.sleep(random.uniform(0.0, 0.1))
        process.kill()
        lines += process.stdout.read().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    return Pointer.from_json(whole[-1]) if whole else pointer


@pytest.mark.long
@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("backend", ["memory", "rocksdb"])
def test_process_killed_at_any_moment_loses_no_commit(backend: str, tmp_path: Path) -> None:
    random, pointer = Random(3), Pointer.empty()
    for _ in range(_KILLS):
        pointer = _commit_until_killed(backend, tmp_path, pointer, random)
        versions = committer.versions(backend, tmp_path)
        with versions.checkout(pointer, Attempt(new_attempt(), 0)) as checkout:
            found = {s: dict(checkout.store.scan(s, None, None)) for s in ("a", "b")}
        assert found == _model(pointer.version)
    assert pointer.version >= _KILLS
    last = Attempt(new_attempt(), 0)
    left = [p for p in tmp_path.rglob("*/*") if p.parent.name in ("attempts", "locks")]
    assert len(left) <= 3
    with committer.versions(backend, tmp_path).checkout(pointer, last) as checkout:
        checkout.commit(committer.changes(pointer.version + 1), {})
    committer.BACKGROUND.drain()
    assert list((tmp_path / "log" / ".unfinished").iterdir()) == []
