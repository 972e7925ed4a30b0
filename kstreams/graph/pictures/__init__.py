"""Topologies as text, Graphviz digraphs and Mermaid flow charts."""

from __future__ import annotations
