"""The tests on each supported version of Python and PySpark: `make test-matrix`.

Read `cells` (the combinations), `environment` (their installation), `suites` (their tests) and
`page` (the table in `docs/installing.md`). `results.json` has the last result of each cell.
"""

from __future__ import annotations

__all__ = ()
