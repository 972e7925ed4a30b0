"""The embedded engine: it runs an app in worker processes on this machine, without Spark and Java.

`engine.py` has the engine of `App(engine="embedded")`; `launcher.py` starts the processes; each
process runs `process.py`.
"""
