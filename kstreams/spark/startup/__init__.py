"""The start of Spark: Java, its JVM, and the processes of Python workers.

`early_jvm.py` starts the JVM before PySpark is imported, `jvm.py` creates a session on it,
`class_archive.py` and `archive_maker.py` shorten its start, and `worker_prefork.py` forks workers
that have imported their modules. `java.py` finds Java. The setting `spark.kstreams.startup=plain`
disables all of it (`switch.py`): then Spark's own scripts start Java and workers.
"""
