"""Telemetry of an app, readable while the app runs and after it has stopped.

The driver writes files into the folder `telemetry` of the checkpoint, in a thread of its own
(`recorder.py`). Any process can read them, without Spark (`reader.py`): `live.json` (`live.py`),
`reports/<query>.jsonl` (`report_lines.py`), `minutes.jsonl` (`minutes.py`), `counters.json`
(`counters.py`), `topology.json` (`outline.py`) and `failures.jsonl` (`failures.py`). Each module
documents the format of its file. No file contains a key or a value of a record. Correctness
never depends on the files: lost files cost only telemetry.
"""

from __future__ import annotations
