"""What an app tells those who watch it, while it runs and when it is dead.

An app writes files into the folder `telemetry` of its checkpoint (`recorder.py`, in the driver, a
thread beside the batches), and any process reads them (`reader.py`, which needs no Spark):
`live.json` (`live.py`), `reports/<query>.jsonl` (`report_lines.py`), `minutes.jsonl`
(`minutes.py`), `counters.json` (`counters.py`), `topology.json` (`outline.py`) and
`failures.jsonl` (`failures.py`). Each of these modules says what is in its file. No key and no
value of a record is in any of them. What counts is in the commits: files that are lost cost
nothing.
"""

from __future__ import annotations
