"""The embedded engine: worker processes on this machine, without Spark and Java.

`engine.py` is the engine of `App(engine="embedded")`; `launcher.py` starts the processes, each of
which runs `process.py`.
"""
