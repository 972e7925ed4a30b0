"""The C program of the limit compiles with the librdkafka of the client, and counts correctly."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.peers.limit import peer as limit
from benchmarks.suite.environment import step
from benchmarks.suite.peer import Unavailable

_SOURCES = Path(limit.__file__).parent
_PRINTS_COUNTS = """
#include <stdio.h>
#include "table.h"
int main(void) {
    char key[64];
    long start, time;
    table counts;
    table_init(&counts);
    while (scanf("%63s %ld %ld", key, &start, &time) == 3)
        table_count(&counts, key, strlen(key), start, time);
    for (size_t i = 0; i < counts.changed_count; i++) {
        entry *e = &counts.entries[counts.changed[i]];
        printf("%.*s %ld ", (int)e->length, e->key, (long)e->start);
        printf("%ld %ld\\n", (long)e->count, (long)e->latest);
    }
    return 0;
}
"""


@pytest.fixture(autouse=True)
def compiler() -> str:
    found = shutil.which("cc")
    if found is None:
        pytest.skip("the C compiler is not installed")
    return found


def test_installed_program_states_which_variable_is_missing(tmp_path: Path) -> None:
    (peer,) = limit.PEERS
    peer.install(tmp_path)
    (program,) = tmp_path.glob("peers/*/limit")
    run = subprocess.run([program], env={}, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr == "Error: BENCH_BOOTSTRAP: it is not set\n"


def test_install_without_compiler_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="no C compiler"):
        limit.PEERS[0].install(tmp_path)


def test_table_counts_keys_of_each_window_beyond_its_first_size(
    tmp_path: Path, compiler: str
) -> None:
    (tmp_path / "counts.c").write_text(_PRINTS_COUNTS)
    program = tmp_path / "counts"
    command = [compiler, "-O1", f"-I{_SOURCES}", "counts.c", "-o", str(program)]
    step(command, tmp_path)
    draw = random.Random(3)
    rows = [(f"k{draw.randrange(90_000)}", draw.randrange(3), at) for at in range(300_000)]
    counts = Counter((key, start) for key, start, _ in rows)
    latest = {(key, start): at for key, start, at in rows}

    given = "\n".join(f"{key} {start} {at}" for key, start, at in rows)
    run = subprocess.run([program], input=given, capture_output=True, text=True, check=True)

    expected = {f"{key} {start} {n} {latest[key, start]}" for (key, start), n in counts.items()}
    assert len(expected) > 1 << 17
    assert set(run.stdout.splitlines()) == expected
