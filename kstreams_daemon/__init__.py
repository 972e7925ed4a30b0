"""What Spark starts as its Python daemon: it asks for one that has imported all by now.

A package of its own, because whatever imports `kstreams` takes half a second.
"""
