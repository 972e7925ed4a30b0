"""pandas is imported on first use, and then works as usual."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from kstreams import late_pandas

pytestmark = pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed")

_USE = """
import sys
import kstreams
import pyarrow as pa
assert pa.array([1, 2]).type == pa.int64()
assert pa.table({"a": [1.5], "b": ["x"]}).num_rows == 1
assert pa.array([b"x"]).to_numpy(zero_copy_only=False).tolist() == [b"x"]
assert "pandas" not in sys.modules
"""
_SERIES = """
import pandas as pd
series = pd.Series([1.5, float("nan")])
assert pa.array(series).null_count == 1
assert pa.array(series).to_pandas().isna().tolist() == [False, True]
assert pa.array(["a", pd.NA, pd.NaT], from_pandas=True).null_count == 2
assert pa.array(pd.Series(["a", pd.NA], dtype="string")).null_count == 1
stamps = pa.array([pd.Timestamp(5)], pa.timestamp("ns"))
assert stamps.cast(pa.int64()).to_pylist() == [5]
assert type(pa.array([pd.DateOffset(months=1)]).to_pandas()[0]) is pd.DateOffset
assert pd._libs is sys.modules["pandas._libs"] and pd.compat is sys.modules["pandas.compat"]
frame = pd.DataFrame({"a": pd.Categorical(["x", "y", "x"])}, index=[3, 4, 5])
table = pa.Table.from_pandas(frame)
assert pa.types.is_dictionary(table.schema.field("a").type)
assert table.to_pandas().equals(frame)
assert not any("late_pandas" in type(finder).__module__ for finder in sys.meta_path)
"""


def _run(*parts: str) -> None:
    """Run a program in a new process, without imported modules."""
    arguments = [sys.executable, "-W", "error", "-c", "".join(parts)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "before",
    [
        pytest.param(_USE, id="later"),
        pytest.param("import pandas, sys, kstreams, pyarrow as pa", id="before"),
        pytest.param(_USE + "pa.array([1.5]).to_pandas()", id="by-pyarrow"),
        pytest.param(_USE + "import pandas.api.types", id="by-a-submodule"),
    ],
)
def test_pyarrow_works_with_late_imported_pandas(before: str) -> None:
    _run(before, _SERIES)


@pytest.mark.slow
def test_failed_import_of_pandas_can_be_retried() -> None:
    failing = """
sys.modules["pandas.core.api"] = None
try:
    import pandas
except ImportError:
    del sys.modules["pandas.core.api"]
"""
    _run(_USE, failing, _SERIES)


@pytest.mark.slow
def test_missing_pandas_raises_usual_import_error() -> None:
    missing = """
sys.path_importer_cache.clear()
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name=name)
sys.meta_path.insert(1, Missing())
for use in (lambda: __import__("pandas"), pa.array([1]).to_pandas):
    try:
        use()
    except ModuleNotFoundError as error:
        assert error.name == "pandas"
    else:
        raise AssertionError
assert pa.array([1]).to_pylist() == [1]
"""
    _run(_USE, missing)


@pytest.mark.slow
def test_pandas_can_be_imported_by_another_thread_meanwhile() -> None:
    busy = """
import sys, threading
import numpy, pyarrow
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas._libs" and "asker" not in globals():
            globals()["asker"] = threading.Thread(target=look)
            asker.start()
def look():
    import pandas
    found.append(pandas.Series([1.5]).sum())
found = []
sys.meta_path.insert(0, Watch())
import kstreams
asker.join()
assert found == [1.5]
import pyarrow as pa
"""
    _run(busy, _SERIES)


def test_late_pandas_finder_handles_only_pandas() -> None:
    assert late_pandas._LatePandas().find_spec("json") is None
