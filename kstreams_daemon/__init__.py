"""The Python daemon that Spark starts: it requests a fork of a process with all imports done.

The module is outside of `kstreams`, because an import of `kstreams` takes half a second.
"""
